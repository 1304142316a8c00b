// What the official TypeScript SDK sees of a server: one JSON list, an entry for each step.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const { command, url, cwd, steps } = JSON.parse(process.argv[2]);
const client = new Client({ name: "observer", version: "1" });
await client.connect(
  url
    ? new StreamableHTTPClientTransport(new URL(url))
    : new StdioClientTransport({ command: command[0], args: command.slice(1), cwd, env: process.env, stderr: "ignore" }),
);
const seen = [
  { server: client.getServerVersion(), capabilities: client.getServerCapabilities(), instructions: client.getInstructions() },
];
const ask = {
  "tools/list": (params) => client.listTools(params),
  "resources/list": (params) => client.listResources(params),
  "resources/templates/list": (params) => client.listResourceTemplates(params),
  "prompts/list": (params) => client.listPrompts(params),
  "prompts/get": (params) => client.getPrompt(params),
  "resources/read": (params) => client.readResource(params),
  "resources/subscribe": (params) => client.subscribeResource(params),
  "completion/complete": (params) => client.complete(params),
  "logging/setLevel": (params) => client.setLoggingLevel(params.level),
  "tools/call": (params) => client.callTool(params),
  ping: () => client.ping(),
};
for (const [method, params] of steps) {
  try {
    seen.push({ result: await ask[method](params) });
  } catch (error) {
    seen.push({ error: [error.code ?? null, String(error.message)] });
  }
}
await client.close();
console.log(JSON.stringify(seen));

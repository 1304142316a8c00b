// What a test asks of the TypeScript client: a story by its name, its input as JSON; its result is printed as JSON.
import { inspect } from "node:util";

import { generateText, isStepCount, jsonSchema, streamText, tool } from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { Client, ClientError, CorrectionError, RefusedError, UnreachableError, VerdictPendingError } from "retrycontract";
import { guardTools, repairToolCall } from "retrycontract/ai";
import { z } from "zod";

import { applyPatch } from "../dist/patch.js";

const stories = {
  /** Settle outputs in one conversation, one after the other. */
  async settle({ levels = 0, outputs = [Array(levels).fill(0).reduce((inner) => [inner], {})], tool = "pay", options = {}, client = {}, name, id = "c" }) {
    const session = new Client(client).session(name);
    const found = [];
    for (const [number, output] of outputs.entries()) {
      const { status, arguments: given, toolResult, state } = await session.settle(tool, `${id}${number}`, output, options);
      found.push({ status, arguments: levels ? null : given, content: toolResult.content, state, id: toolResult.tool_call_id });
    }
    return found;
  },

  /** Ask services one after the other, each of which answers once, and tell what went wrong. */
  async each({ urls }) {
    const options = { timeout: 0 };
    const tries = urls.map((url) => () => stories.settle({ outputs: [{}], options, client: { url, patience: 0 } }));
    const found = [];
    for (const settle of tries) found.push(await settle().catch(described));
    return found;
  },

  /** Call guarded tools one after the other, each as an answer of its own. */
  async guarded({ inputs }) {
    const inputSchema = z.object({ day: z.string(), seats: z.coerce.number().default(1) })
      .refine(({ day }) => day >= "2027", { message: "that day is gone", path: ["day"] });
    async function* slowly({ day, seats }) {
      yield "looking";
      yield `${seats} on ${day}`;
    }
    const outside = tool({ inputSchema });
    const tools = guardTools(new Client().session(), { book: tool({ inputSchema, execute: slowly }), outside }, { timeout: 0 });
    const told = [];
    for (const [number, input] of inputs.entries()) told.push(await tools.book.execute(input, { toolCallId: `c${number}`, messages: [] }));
    return { told, isLeftAlone: tools.outside === outside };
  },

  /** Stream an answer whose first call is wrong. */
  async streamed() {
    const inputSchema = z.object({ amount: z.int() });
    const says = (parts, unified) => ({
      stream: simulateReadableStream({ chunks: [
        { type: "stream-start", warnings: [] },
        ...parts,
        { type: "finish", finishReason: { unified, raw: unified }, usage: { inputTokens: {}, outputTokens: {} } },
      ] }),
    });
    const calls = (id, input) => [{ type: "tool-call", toolCallId: id, toolName: "pay", input: JSON.stringify(input) }];
    const text = [{ type: "text-start", id: "t" }, { type: "text-delta", id: "t", delta: "Done." }, { type: "text-end", id: "t" }];
    const model = new MockLanguageModelV4({
      doStream: [says(calls("a", { amount: "much" }), "tool-calls"), says(calls("b", { amount: 5 }), "tool-calls"), says(text, "stop")],
    });
    const pay = tool({ inputSchema, execute: ({ amount }) => `paid ${amount}` });
    const result = streamText({ model, tools: guardTools(new Client().session(), { pay }), stopWhen: isStepCount(9), prompt: "Pay." });
    const steps = await result.steps;
    return { text: await result.text, told: steps.flatMap((step) => step.toolResults.map((each) => each.output)) };
  },

  /**
   * Let a model call a tool with approvals and callbacks of its own, and tell what these saw and what became of each call.
   *
   * A person who is asked approves, and the conversation goes on from its history as JSON, as in a new process.
   */
  async asking({ kind, texts, guards = true, timeout = 0 }) {
    const seen = [];
    const saw = (who, given) => seen.push([who, JSON.parse(JSON.stringify(given))]);
    const inputSchema = {
      defaults: z.object({ path: z.string(), recursive: z.boolean().default(true) }),
      transforms: z.object({ path: z.string(), recursive: z.string().default("x,y").transform((text) => text.split(",")) }),
      refines: z.object({ path: z.string(), recursive: z.array(z.string()) }).refine(({ path }) => path !== "/", "not the root"),
      unchecked: jsonSchema({ type: "object", properties: { path: { type: "string" }, recursive: { type: "array" } }, required: ["path"] }),
      always: z.object({ path: z.string() }),
    }[kind];
    const erase = tool({
      inputSchema,
      needsApproval: kind === "always" || ((input) => {
        saw("needsApproval", input);
        return input.recursive.length !== 0;
      }),
      onInputAvailable: ({ input }) => saw("onInputAvailable", input),
      toModelOutput: ({ input, output }) => {
        saw("toModelOutput", input);
        return { type: "text", value: output.erased.map((each) => `erased ${each}`).join() };
      },
      execute: (input) => {
        saw("execute", input);
        return { erased: [input.path] };
      },
    });
    const read = [];
    const usage = { inputTokens: {}, outputTokens: {} };
    const model = new MockLanguageModelV4({
      doGenerate: async ({ prompt }) => {
        read.push(...prompt.filter(({ role }) => role === "tool").at(-1)?.content.map(({ output }) => output?.value) ?? []);
        const input = texts.shift();
        const content = input === undefined ? { type: "text", text: "Done." } : { type: "tool-call", toolCallId: `c${texts.length}`, toolName: "erase", input };
        return { content: [content], finishReason: { unified: input === undefined ? "stop" : "tool-calls" }, usage, warnings: [] };
      },
    });
    const session = new Client().session();
    let messages = [{ role: "user", content: "Erase." }];
    for (let asked = 0; ; asked++) {
      const tools = guards ? guardTools(session, { erase }, { timeout }) : { erase };
      const { response, steps } = await generateText({ model, tools, ...(guards ? { repairToolCall } : {}), messages, stopWhen: isStepCount(9) });
      const requests = steps.flatMap(({ content }) => content.filter(({ type }) => type === "tool-approval-request"));
      if (!requests.length) return { seen, read, asked };
      const approved = requests.map(({ approvalId }) => ({ type: "tool-approval-response", approvalId, approved: true }));
      messages = JSON.parse(JSON.stringify([...messages, ...response.messages, { role: "tool", content: approved }]));
    }
  },

  /** Give up waiting for a person. */
  async abort({ output }) {
    const session = new Client().session();
    for (const number of [1, 2]) await session.settle("pay", `c${number}`, output);
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error("no patience")), 500);
    return await session.settle("pay", "c3", output, { signal: controller.signal });
  },

  /** Give a client what only JavaScript can write, and tell what each was refused with. */
  async odd() {
    const cycle = {};
    cycle.self = cycle;
    let deep = [];
    for (let depth = 0; depth < 100_000; depth++) deep = [deep];
    const silent = { toJSON() { throw new Error("no"); } };
    const made = [
      { apikey: "rc_1" }, { api_key: "rc_1" }, { baseURL: "http://127.0.0.1:1" }, { patiance: 1 }, [],
      null, "http://127.0.0.1:1", { url: 5 }, { url: {} }, { apiKey: 5 }, { apiKey: ["rc_1"] }, { fetch: "fetch" }, { patience: null, apiKey: 1n },
    ];
    const ineffective = [{ tool: "a" }, { tool_call_id: "a" }, { arguments: {} }, { raw: "{}" }, { render: "mcp" }, 30, "soon", []];
    const placed = [{ session_id: "other" }, { turn: 77 }];
    const outputs = [1n, cycle, silent, { at: [1n] }];
    const client = new Client();
    const tries = [
      ...made.map((options) => () => new Client(options)),
      ...outputs.map((output) => () => client.settle("pay", "c", output)),
      ...[...outputs, deep].map((output) => () => client.registerTools([output])),
      ...[5, {}, new EventTarget()].map((signal) => () => client.settle("pay", "c", {}, { signal })),
      ...ineffective.map((options) => () => client.settle("pay", "c", { amount: 1 }, options)),
      ...placed.map((options) => () => client.session().settle("pay", "c", { amount: 1 }, options)),
      ...placed.map((options) => () => client.session().turn().settle("pay", "c", { amount: 1 }, options)),
      ...[{ timout: 5 }, { signal: null }, { timeout: "soon" }, 30].map((options) => () => guardTools(client.session(), {}, options)),
      () => client.settle("pay", 1n, {}),
      () => client.settle("pay", "c", {}, { session_id: cycle }),
    ];
    const found = [];
    for (const each of tries) {
      try {
        found.push(`${each}: ${JSON.stringify(await each())}`);
      } catch (error) {
        if (!(error instanceof ClientError)) found.push(`${each}: ${error}`);
      }
    }
    return found;
  },

  /** Settle what JSON writes as something else, and give the kinds of what is handed back to be run with. */
  async written() {
    const at = new Date(0);
    const outputs = [{ n: NaN }, { n: -Infinity }, { at }, { run() {}, n: 1 }, { o: { toJSON: () => "ok" } }, { n: undefined }, [undefined], at, undefined];
    const settled = outputs.map((output, number) => new Client().settle("pay", `c${number}`, output));
    return (await Promise.all(settled)).map((found) => inspect(found.arguments));
  },

  patches(cases) {
    return cases.map(([value, operations]) => {
      try {
        return [applyPatch(value, operations)];
      } catch (error) {
        if (error instanceof CorrectionError) return null;
        throw error;
      }
    });
  },
};

function described(error) {
  const { name, message, status, code, errors } = error;
  const kinds = { RefusedError, UnreachableError, CorrectionError, VerdictPendingError, ClientError };
  const kind = Object.keys(kinds).find((each) => error instanceof kinds[each]);
  return { name, message, status, code, errors, kind };
}

try {
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  console.log(JSON.stringify(await stories[process.argv[2]](JSON.parse(Buffer.concat(chunks).toString()))));
} catch (error) {
  console.log(JSON.stringify(described(error)));
}

// What a test asks of the TypeScript client: a story by its name, its input as JSON; its result is printed as JSON.
import { Client, CorrectionError, RefusedError, UnreachableError } from "retrycontract";

import { applyPatch } from "../dist/patch.js";

const stories = {
  /** Settle outputs in one conversation, one after the other. */
  async settle({ outputs, tool = "pay", options = {}, client = {} }) {
    const session = new Client(client).session();
    const found = [];
    for (const [number, output] of outputs.entries()) {
      const { status, arguments: given, toolResult, state } = await session.settle(tool, `c${number}`, output, options);
      found.push({ status, arguments: given, content: toolResult.content, state });
    }
    return found;
  },

  /** Give up waiting for a person. */
  async abort({ output }) {
    const session = new Client().session();
    for (const number of [1, 2]) await session.settle("pay", `c${number}`, output);
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error("no patience")), 500);
    return await session.settle("pay", "c3", output, { signal: controller.signal });
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

try {
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  console.log(JSON.stringify(await stories[process.argv[2]](JSON.parse(Buffer.concat(chunks).toString()))));
} catch (error) {
  const { name, message, status, code } = error;
  const kinds = { RefusedError, UnreachableError, CorrectionError };
  const kind = Object.keys(kinds).find((each) => error instanceof kinds[each]);
  console.log(JSON.stringify({ name, message, status, code, kind }));
}

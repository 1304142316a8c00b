// What a test asks of the TypeScript client: a story by its name, its input as JSON; its result is printed as JSON.
import { isStepCount, streamText, tool } from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { Client, CorrectionError, RefusedError, UnreachableError } from "retrycontract";
import { guardTools } from "retrycontract/ai";
import { z } from "zod";

import { applyPatch } from "../dist/patch.js";

const stories = {
  /** Settle outputs in one conversation, one after the other. */
  async settle({ outputs, tool = "pay", options = {}, client = {}, name, id = "c" }) {
    const session = new Client(client).session(name);
    const found = [];
    for (const [number, output] of outputs.entries()) {
      const { status, arguments: given, toolResult, state } = await session.settle(tool, `${id}${number}`, output, options);
      found.push({ status, arguments: given, content: toolResult.content, state, id: toolResult.tool_call_id });
    }
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
  const { name, message, status, code, errors } = error;
  const kinds = { RefusedError, UnreachableError, CorrectionError };
  const kind = Object.keys(kinds).find((each) => error instanceof kinds[each]);
  console.log(JSON.stringify({ name, message, status, code, errors, kind }));
}

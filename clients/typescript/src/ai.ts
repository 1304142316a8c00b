/** Guard the tools of the Vercel AI SDK: each call is settled before its tool runs. */

import { asSchema, jsonSchema, type ToolSet } from "ai";

import { ClientError, type Options, type Session, type Turn } from "./index.js";

const UNREAD = "retrycontract_unread"; // where a call that is no JSON keeps what the model wrote
const LONGEST_COMPLAINT = 2_000;

/**
 * Give tools of the same names and schemas, for one conversation: what is not valid comes back as their result.
 *
 * The AI SDK's own validation is left to the service, so that each mistake counts; what was valid, or corrected by a
 * person, is read by the tool's own schema and run. Tools without `execute` are left alone.
 */
export function guardTools<TOOLS extends ToolSet>(session: Session, tools: TOOLS, options: Pick<Options, "timeout"> = {}): TOOLS {
  const turns = new WeakMap<object, Turn>();
  let registered: Promise<unknown> | undefined;
  // The calls of one answer bear the same list of messages.
  const turnOf = (messages: object): Turn => {
    const found = turns.get(messages) ?? session.turn();
    turns.set(messages, found);
    return found;
  };
  const register = async (): Promise<void> => {
    const declared = Object.entries(tools).map(async ([name, tool]) => ({
      name, description: tool.description, input_schema: await asSchema(tool.inputSchema).jsonSchema,
    }));
    const { refused } = await session.client.registerTools(await Promise.all(declared));
    if (refused[0]) throw new ClientError(`${refused[0].name} cannot be registered as a tool: ${refused[0].detail}`);
  };

  const guarded = Object.entries(tools).map(([name, tool]) => {
    const execute = tool.execute;
    if (!execute) return [name, tool];
    const own = asSchema(tool.inputSchema);
    return [name, {
      ...tool,
      inputSchema: jsonSchema(() => own.jsonSchema, { validate: (value) => ({ success: true, value }) }),
      execute: async (input: unknown, call: Parameters<typeof execute>[1]) => {
        await (registered ??= register().catch((error: unknown) => {
          registered = undefined; // asked again with the next call
          throw error;
        }));
        let given = unread(input);
        let complaint = await ownWords(own, given);
        for (;;) {
          const said = complaint ? { callback_error: complaint.slice(0, LONGEST_COMPLAINT) } : {};
          const outcome = await turnOf(call.messages).settle(name, call.toolCallId, given, { ...options, ...said, signal: call.abortSignal });
          if (outcome.status !== "valid") return outcome.toolResult.content;
          const read = await own.validate?.(outcome.arguments);
          if (!read || read.success || outcome.isObserved) {
            return await last(await execute(read?.success ? read.value : outcome.arguments, call));
          }
          // What a person has put right may still fail the tool's own schema: then it is one attempt more.
          given = outcome.arguments;
          complaint = read.error.message;
        }
      },
    }];
  });
  return Object.fromEntries(guarded) as TOOLS;
}

/** Hand what is no JSON to the guarded tool, as `repairToolCall` of generateText and streamText. */
export async function repairToolCall<CALL extends { input: string }>({ toolCall, error }: { toolCall: CALL; error: Error }): Promise<CALL | null> {
  if (error.name === "AI_NoSuchToolError") return null;
  return { ...toolCall, input: JSON.stringify({ [UNREAD]: toolCall.input }) };
}

/** Give what a schema's own refinements have against a value: JSON Schema cannot say it. */
async function ownWords(schema: ReturnType<typeof asSchema>, value: unknown): Promise<string> {
  const read = await schema.validate?.(value);
  const issues = read && !read.success && "issues" in read.error ? read.error.issues : [];
  const own = (Array.isArray(issues) ? issues : []).filter((issue: { code?: string }) => issue.code === "custom");
  return own.map((issue: { path: unknown[]; message: string }) => `${issue.path.join("/")}: ${issue.message}`).join("; ");
}

/** Give the result of a tool that gives several: the last one counts. */
async function last(result: unknown): Promise<unknown> {
  if (typeof result !== "object" || result === null || !(Symbol.asyncIterator in result)) return result;
  let found: unknown;
  for await (const each of result as AsyncIterable<unknown>) found = each;
  return found;
}

function unread(input: unknown): unknown {
  return typeof input === "object" && input !== null && UNREAD in input ? input[UNREAD] : input;
}

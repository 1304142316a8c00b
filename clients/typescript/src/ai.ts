/** Guard the tools of the Vercel AI SDK: each call is settled before its tool runs. */

import { asSchema, jsonSchema, type Tool, type ToolExecutionOptions, type ToolSet } from "ai";

import { type Faults, isObject, knownOptions, seconds, sortedText } from "./connection.js";
import { ClientError, type Options, type Session, type Turn } from "./index.js";

const UNREAD = "retrycontract_unread"; // where a call that is no JSON keeps what the model wrote
const LONGEST_COMPLAINT = 2_000;
const MOST_COMPLAINTS = 100;
// Behind feedback on a tool that has words of its own for its results: in a history that comes back as JSON, too.
const NO_RESULT = "\n\n(retrycontract)";

/**
 * Give tools of the same names and schemas, for one conversation: what is not valid comes back as their result.
 *
 * The AI SDK's own validation is left to the service, so that each mistake counts; what was valid, or corrected by a
 * person, is read by the tool's own schema and run. The tool's callbacks are given what it reads, and are not called for
 * what it does not. Tools without `execute` are left alone.
 */
export function guardTools<TOOLS extends ToolSet>(session: Session, tools: TOOLS, options: Pick<Options, "timeout"> = {}): TOOLS {
  knownOptions("guardTools", options, ["timeout"]);
  if (options.timeout !== undefined) seconds("timeout", options.timeout);
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
  const settle = async (name: string, call: Call, given: unknown, complaint: string | Faults) => {
    await (registered ??= register().catch((error: unknown) => {
      registered = undefined; // asked again with the next call
      throw error;
    }));
    const said = complaint.length ? { callback_error: complaint as string } : {};
    return await turnOf(call.messages).settle(name, call.toolCallId, given, { ...options, ...said, signal: call.abortSignal });
  };

  return Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, tool.execute ? guarded(name, tool, settle) : tool])) as TOOLS;
}

type Call = ToolExecutionOptions<any>;
type Settle = (name: string, call: Call, given: unknown, complaint: string | Faults) => ReturnType<Turn["settle"]>;

function guarded(name: string, tool: Tool<any, any, any>, settle: Settle): Tool<any, any, any> {
  const own = asSchema(tool.inputSchema);
  const reader = new Reader(own);
  const ran = new WeakMap<object, unknown>(); // what a tool was run with, by its input, where a person has corrected it
  const asks = async (input: unknown, call: Call): Promise<boolean> =>
    typeof tool.needsApproval === "function" ? await tool.needsApproval(input, call) : Boolean(tool.needsApproval);
  const told = (content: string): string => (tool.toModelOutput ? content + NO_RESULT : content);

  const execute = async (input: unknown, call: Call): Promise<unknown> => {
    const found = await reader.read(input);
    let given = found.written;
    let complaint: string | Faults = await ownWords(own, given);
    for (;;) {
      const outcome = await settle(name, call, given, complaint);
      if (outcome.status !== "valid") return told(outcome.toolResult.content);
      // What was read before is what its approval was asked for: a default may be another one each time.
      if (found.isRead && isSame(outcome.arguments, found.written)) return await last(await tool.execute!(found.value, call));
      const read = (await own.validate?.(outcome.arguments)) ?? { success: true as const, value: outcome.arguments };
      if (read.success) {
        // Nobody was asked about what a person has put in the place of the input, or about an input that was wrong.
        const isOpen = await asks(read.value, call).catch(() => true);
        if (isOpen) return told(`This call was not run: it needs an approval that has not been asked for. Make it again with exactly these arguments:\n${JSON.stringify(outcome.arguments)}`);
        if (isHolder(input)) ran.set(input, read.value);
        return await last(await tool.execute!(read.value, call));
      }
      if (outcome.isObserved) {
        if (tool.needsApproval) throw read.error; // as without the guard: nobody was asked
        return await last(await tool.execute!(outcome.arguments, call));
      }
      // What a person has put right may still fail the tool's own schema: then it is one attempt more.
      given = outcome.arguments;
      complaint = read.error.message.slice(0, LONGEST_COMPLAINT);
    }
  };

  const callbacks: Partial<Tool<any, any, any>> = {};
  if (tool.needsApproval) {
    callbacks.needsApproval = async (input: unknown, call: Call) => {
      const { isRead, value } = await reader.read(input);
      if (!isRead) return false; // it is answered with feedback
      return await asks(value, call).catch((error: unknown) => {
        if (own.validate) throw error;
        return true; // nothing has looked at the input, so that it may be the model's mistake
      });
    };
  }
  if (tool.onInputAvailable) {
    callbacks.onInputAvailable = async (call) => {
      const { isRead, value } = await reader.read(call.input);
      if (isRead) await tool.onInputAvailable!({ ...call, input: value });
    };
  }
  if (tool.toModelOutput) {
    callbacks.toModelOutput = async ({ output, input, ...call }) => {
      if (typeof output === "string" && output.endsWith(NO_RESULT)) return { type: "text", value: output.slice(0, -NO_RESULT.length) };
      return await tool.toModelOutput!({ ...call, output, input: (isHolder(input) && ran.get(input)) || input });
    };
  }
  return {
    ...tool,
    ...callbacks,
    inputSchema: jsonSchema(() => own.jsonSchema, { validate: async (value) => ({ success: true, value: await reader.take(value) }) }),
    execute,
  } as Tool<any, any, any>;
}

/** Read inputs as their tool does, and know what the model wrote for each. */
class Reader {
  readonly #own: ReturnType<typeof asSchema>;
  readonly #written = new WeakMap<object, unknown>();
  // An input that was approved comes back through JSON, and its keys in another order.
  readonly #writtenByText = new Map<string, unknown>();
  readonly #wrong = new WeakSet<object>();

  constructor(own: ReturnType<typeof asSchema>) {
    this.#own = own;
  }

  /** Take what the model wrote, and give the tool's input: what it reads, or what was written where it reads nothing. */
  async take(written: unknown): Promise<unknown> {
    const read = isUnread(written) ? undefined : ((await this.#own.validate?.(written)) ?? { success: true as const, value: written });
    if (!read?.success) {
      const kept = isHolder(written) ? written : { [UNREAD]: written };
      this.#wrong.add(kept);
      return kept;
    }
    if (isHolder(read.value)) this.#written.set(read.value, written);
    const text = sortedText(read.value);
    if (text !== undefined) this.#writtenByText.set(text, written);
    return read.value;
  }

  /** Tell what the model wrote for an input, whether the tool reads it, and as what. */
  async read(input: unknown): Promise<{ written: unknown; isRead: boolean; value?: unknown }> {
    if (isUnread(input)) return { written: input[UNREAD], isRead: false };
    if (isHolder(input)) {
      if (this.#wrong.has(input)) return { written: input, isRead: false };
      if (this.#written.has(input)) return { written: this.#written.get(input), isRead: true, value: input };
    }
    const text = sortedText(input);
    if (text !== undefined && this.#writtenByText.has(text)) return { written: this.#writtenByText.get(text), isRead: true, value: input };
    const read = (await this.#own.validate?.(input)) ?? { success: true as const, value: input };
    return read.success ? { written: input, isRead: true, value: read.value } : { written: input, isRead: false };
  }
}

/** Hand what is no JSON to the guarded tool, as `repairToolCall` of generateText and streamText. */
export async function repairToolCall<CALL extends { input: string }>({ toolCall, error }: { toolCall: CALL; error: Error }): Promise<CALL | null> {
  if (error.name === "AI_NoSuchToolError") return null;
  return { ...toolCall, input: JSON.stringify({ [UNREAD]: toolCall.input }) };
}

/** Give what a schema's own refinements have against a value: JSON Schema cannot say it. */
async function ownWords(schema: ReturnType<typeof asSchema>, value: unknown): Promise<Faults> {
  const read = await schema.validate?.(value);
  const issues = read && !read.success && "issues" in read.error ? read.error.issues : [];
  const own = (Array.isArray(issues) ? issues : []).filter((issue: { code?: string }) => issue.code === "custom").slice(0, MOST_COMPLAINTS);
  return own.map((issue: { path: PropertyKey[]; message: string }) => ({
    field_path: issue.path.map((name) => `/${String(name).replaceAll("~", "~0").replaceAll("/", "~1")}`).join(""),
    message: issue.message.slice(0, LONGEST_COMPLAINT) || "it is not valid",
  }));
}

/** Give the result of a tool that gives several: the last one counts. */
async function last(result: unknown): Promise<unknown> {
  if (typeof result !== "object" || result === null || !(Symbol.asyncIterator in result)) return result;
  let found: unknown;
  for await (const each of result as AsyncIterable<unknown>) found = each;
  return found;
}

function isUnread(input: unknown): input is Record<typeof UNREAD, unknown> {
  return isObject(input) && UNREAD in input;
}

function isHolder(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

function isSame(one: unknown, other: unknown): boolean {
  return one === other || (sortedText(one) ?? NaN) === sortedText(other);
}

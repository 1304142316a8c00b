/** The agent's side of the service: submit what a model wrote, wait, and take a person's guidance over. */

import type { components } from "./api.js";
import { ClientError, type ClientOptions, Connection, type Fault, isObject, isTooDeep, RefusedError, type Reply, seconds, sleep, UnreachableError, written } from "./connection.js";
import { applyPatch, CorrectionError, type Operation } from "./patch.js";

export type { components, paths } from "./api.js";
export { ClientError, type ClientOptions, CorrectionError, type Fault, RefusedError, UnreachableError };

type Schemas = components["schemas"];
export type Verdict = Schemas["VerdictOut"];
export type Guidance = Schemas["GuidanceOut"];
export type ToolResult = Schemas["ToolResultOut"];
export type ImportedTools = Schemas["ImportOut"];
type Waiting = Schemas["WaitOut"];
type Call = Schemas["CallIn"];

/** What else is said of an attempt, by the names of `POST /calls`. */
export type Details = Partial<Omit<Call, "tool" | "tool_call_id" | "arguments" | "raw" | "render">>;

export interface Options extends Details {
  /** Seconds that a Blocked call waits for a person; without it there is no limit. */
  timeout?: number;
  signal?: AbortSignal | undefined;
}

/** What to do now: run the tool ("valid"), let the model try again ("retry"), or stop ("blocked"). */
export interface Settlement<T = unknown> {
  status: Schemas["Status"];
  callId: string;
  state: string;
  /** What to run the tool with: a person may have put it in the place of what was submitted. */
  arguments: T;
  /** The answer for the model. */
  toolResult: ToolResult;
  /** The tool is only observed: its arguments are as they were submitted, right or wrong. */
  isObserved: boolean;
}

/** Raised when there was no verdict within the timeout, or the call ended before it; `callId` is the call. */
export class VerdictPendingError extends ClientError {
  override name = "VerdictPendingError";

  constructor(readonly callId: string, readonly state = "pending") {
    super(ENDS.has(state) ? `call ${callId} ended (${state}) before its verdict: run nothing` : `call ${callId} has no verdict yet`);
  }
}

const ENDS = new Set(["valid", "accepted", "rejected", "cancelled", "expired", "observed", "unavailable"]);
const LONGEST_POLL = 60; // seconds
const MAX_CALLS = 1_000; // whose attempts are remembered, for corrections to apply to
const MAX_ATTEMPTS = 20; // of each
// What `settle` says of an output itself.
const OF_THE_OUTPUT = ["tool", "tool_call_id", "arguments", "raw", "render"];
// What a person has corrected was written by no model, and no check of the agent's own has looked at it.
const OF_A_MODEL = ["callback_error", "model", "prompt", "said", "tokens_in", "tokens_out", "seconds"] as const;

export class Client {
  readonly #connection: Connection;
  readonly #sent = new Map<string, Map<number, string>>();

  constructor(options: ClientOptions = {}) {
    this.#connection = new Connection(options);
  }

  /** Begin a conversation; nobody else has it unless it is named. */
  session(name?: string): Session {
    return new Session(this, name);
  }

  /** Register tools: a list as OpenAI, Anthropic or MCP write it. Look at `refused`. */
  async registerTools(tools: readonly unknown[]): Promise<ImportedTools> {
    return (await this.#connection.ask<ImportedTools>({ method: "POST", path: "/tools/import", body: tools, fits: isImport })).body;
  }

  /**
   * Submit an attempt; where its call is Blocked wait for a person, and take over the answer.
   *
   * `given` is the text that the model wrote, or the parsed value. Throws VerdictPendingError, RefusedError,
   * UnreachableError, CorrectionError, and what `signal` aborts with.
   */
  async settle<T = unknown>(tool: string, toolCallId: string, given: unknown, options: Options = {}): Promise<Settlement<T>> {
    refuse(options, OF_THE_OUTPUT, "is none of settle's options: what the model wrote is given by place");
    const { timeout: limit, signal, ...details } = options ?? {};
    const timeout = seconds("timeout", limit ?? Infinity);
    if (signal && !(signal instanceof AbortSignal)) throw new ClientError("signal is an AbortSignal");
    let submitted = given;
    let verdict = await this.#judged(tool, toolCallId, submitted, details, timeout, signal);
    // What a person corrected is judged like any attempt, and may leave the call Blocked: then a person is asked again.
    while (verdict.status === "blocked") {
      const path = `/calls/${encodeURIComponent(verdict.call_id)}`;
      const { body } = await this.#polled<Waiting>(`${path}/wait?for=guidance`, isWaiting, timeout, signal);
      const guidance = body.guidance;
      if (!guidance) return this.#answered(verdict, submitted, "blocked", body.state, body.expiry ?? "");
      await this.#connection.ask({ method: "POST", path: `${path}/guidance/ack`, headers: idempotent(), signal });
      if (guidance.decision === "accept") {
        submitted = this.#attempt(verdict.call_id, guidance);
        return this.#answered(verdict, submitted, "valid", body.state, "");
      }
      const corrected = guidance.decision === "corrected" ? this.#corrected(verdict.call_id, guidance) : undefined;
      if (!corrected) {
        const status = guidance.decision === "reject" ? "blocked" : "retry";
        return this.#answered(verdict, submitted, status, body.state, guidance.text, guidance.max_attempts);
      }
      submitted = corrected.arguments;
      const further = { ...details, call_id: verdict.call_id };
      for (const name of OF_A_MODEL) delete further[name];
      verdict = await this.#judged(tool, toolCallId, submitted, further, timeout, signal);
    }
    return this.#answered(verdict, submitted, verdict.status!, verdict.state, "");
  }

  async #judged(
    tool: string, toolCallId: string, given: unknown, details: Details, timeout: number, signal: AbortSignal | undefined,
  ): Promise<Verdict> {
    const text = typeof given === "string" ? given : undefined; // JSON carries half a character, too: it gets a verdict
    let output: Record<string, unknown> = text === undefined ? { arguments: given ?? null } : { raw: text };
    const body = { ...details, tool, tool_call_id: toolCallId };
    const asking = (output: Record<string, unknown>) => this.#connection.ask<Verdict>({
      method: "POST",
      path: "/calls",
      body: { ...body, ...output },
      headers: { ...idempotent(), Prefer: `wait=${LONGEST_POLL}` },
      wait: LONGEST_POLL,
      signal,
      fits: isVerdict,
    });
    const instead = (message: string, hint: string) => ({ arguments: null, callback_error: [{ message, hint }] });
    let sent = "null";
    try {
      sent = text ?? written(given ?? null);
    } catch (error) {
      if (!isTooDeep(error)) throw error;
      output = instead("it is nested too deeply to be read", "send a flatter value"); // the model's mistake
    }
    const reply = await asking(output).catch((error: unknown) => {
      if (!(error instanceof RefusedError && error.status === 413)) throw error;
      // The model's mistake, unless all the rest is too large as well.
      const most = error.limit === undefined ? ", more than the service takes" : `, and the service takes at most ${error.limit.toLocaleString("en")}`;
      const size = new Blob([written({ ...body, ...output })]).size.toLocaleString("en");
      const message = `it is too large to be checked: with what goes along it has ${size} bytes${most}`;
      sent = "null";
      return asking(instead(message, "send a shorter one, or several smaller ones"));
    });
    this.#keep(reply.body.call_id, reply.body.attempt_number, sent);
    const path = `/calls/${encodeURIComponent(reply.body.call_id)}/wait?for=verdict&attempt=${reply.body.attempt_number}`;
    const verdict = reply.body.status !== null ? reply.body : (await this.#polled<Verdict>(path, isVerdict, timeout, signal)).body;
    if (verdict.status === null) throw new VerdictPendingError(verdict.call_id, verdict.state);
    // Of a long id the service keeps less, and it has nothing to say of what is valid.
    verdict.tool_result = { role: "tool", name: tool, content: "", is_error: false, metadata: {}, ...verdict.tool_result, tool_call_id: toolCallId };
    return verdict;
  }

  /** Ask by long polls until there is an answer, at most `timeout` seconds. */
  async #polled<T>(path: string, fits: (body: any) => boolean, timeout: number, signal: AbortSignal | undefined): Promise<Reply<T>> {
    const deadline = Date.now() + timeout * 1000;
    for (;;) {
      const wait = Math.ceil(Math.min(LONGEST_POLL, Math.max(0, (deadline - Date.now()) / 1000)));
      const reply = await this.#connection.ask<T>({ method: "GET", path, headers: { Prefer: `wait=${wait}` }, wait, signal, fits });
      const left = (deadline - Date.now()) / 1000;
      if (reply.status !== 202 || left <= 0) return reply;
      await sleep(Math.min(left, reply.retryAfter), signal); // a service that stops answers at once what it holds
    }
  }

  #answered<T>(verdict: Verdict, submitted: unknown, status: Schemas["Status"], state: string, said: string, budget = verdict.max_attempts): Settlement<T> {
    const result = verdict.tool_result!;
    const metadata = { ...result.metadata, call_id: verdict.call_id, status, max_attempts: budget };
    const content = status === "valid" ? "The call is valid." : [said ? onceAnswered(result.content) : result.content, said].filter(Boolean).join("\n\n");
    const toolResult: ToolResult = { ...result, content, is_error: status !== "valid", metadata };
    if (status === "valid") this.#sent.delete(verdict.call_id); // nobody will correct it any more
    return { status, callId: verdict.call_id, state, arguments: value(submitted) as T, toolResult, isObserved: state === "observed" };
  }

  #keep(callId: string, number: number, text: string): void {
    const attempts = this.#sent.get(callId) ?? new Map<number, string>();
    // So that the call that was silent longest gives way, and not the one that began first.
    this.#sent.delete(callId);
    this.#sent.set(callId, attempts.set(number, text));
    for (const old of attempts.keys()) if (attempts.size > MAX_ATTEMPTS) attempts.delete(old);
    for (const old of this.#sent.keys()) if (this.#sent.size > MAX_CALLS) this.#sent.delete(old);
  }

  /** Give what was sent as the attempt that a person has answered; throws CorrectionError. */
  #attempt(callId: string, guidance: Guidance): unknown {
    const text = this.#sent.get(callId)?.get(guidance.base?.attempt ?? 0);
    if (text === undefined) {
      throw new CorrectionError(`the answer to call ${callId} rests on an attempt that this client does not hold`);
    }
    return value(text); // of a file that is no JSON the text itself
  }

  /** Give the corrected arguments; nothing where they rest on what another process has sent: the model reads a hint. */
  #corrected(callId: string, guidance: Guidance): { arguments: unknown } | undefined {
    if (!guidance.patch) return { arguments: guidance.arguments };
    try {
      return { arguments: applyPatch(this.#attempt(callId, guidance), guidance.patch as unknown as Operation[]) };
    } catch (error) {
      if (error instanceof CorrectionError) return undefined;
      throw error;
    }
  }
}

/** One conversation of an agent: its retries find their calls. No other conversation shares it. */
export class Session {
  readonly sessionId: string;
  #turns: number;

  constructor(readonly client: Client, name?: string) {
    this.sessionId = name ?? crypto.randomUUID();
    // Whoever takes a named one up again, after a restart too, must count on: a clock does.
    this.#turns = name === undefined ? 0 : Date.now();
  }

  /** Begin the next turn: the calls of one answer of the model, side by side. */
  turn(): Turn {
    return new Turn(this, ++this.#turns);
  }

  /** Settle a call in a turn of its own; see `Client.settle`. */
  settle<T = unknown>(tool: string, toolCallId: string, given: unknown, options: Options = {}): Promise<Settlement<T>> {
    return this.turn().settle(tool, toolCallId, given, options);
  }
}

/** The calls of one answer of a model. */
export class Turn {
  readonly #continued = new Set<string>();

  constructor(readonly session: Session, readonly number: number) {}

  /** Settle one of the calls; where several earlier ones could be meant, they are gone on with in their order. */
  async settle<T = unknown>(tool: string, toolCallId: string, given: unknown, options: Options = {}): Promise<Settlement<T>> {
    refuse(options, ["session_id", "turn"], "is the session's own: settle a call of another one there");
    const placed = { ...options, session_id: this.session.sessionId, turn: this.number };
    try {
      return await this.session.client.settle<T>(tool, toolCallId, given, placed);
    } catch (error) {
      const meant = error instanceof RefusedError ? error.candidates.find((each) => !this.#continued.has(each)) : undefined;
      if (meant === undefined) throw error;
      this.#continued.add(meant);
      return await this.session.client.settle<T>(tool, toolCallId, given, { ...placed, call_id: meant });
    }
  }
}

/** Refuse options that would be ignored. */
function refuse(options: unknown, names: readonly string[], why: string): void {
  if (options !== undefined && options !== null && !isObject(options)) throw new ClientError("the options of settle are an object: { timeout, signal, … }");
  const given = names.find((name) => (options as Record<string, unknown> | undefined)?.[name] !== undefined);
  if (given !== undefined) throw new ClientError(`${given} ${why}`);
}

/** Leave out that the model is to wait for a person: what they said follows. */
function onceAnswered(content: string): string {
  const waits = [...content.matchAll(/ ?Do not retry it yourself; continue when (?:guidance arrives|you are told (?:how|to))\./g)].at(-1);
  return waits ? content.slice(0, waits.index) + content.slice(waits.index + waits[0].length) : content;
}

/** Read what was judged: of a value that is its JSON, which knows no NaN, no function and no date. */
function value(submitted: unknown): unknown {
  try {
    return JSON.parse(typeof submitted === "string" ? submitted : written(submitted ?? null));
  } catch {
    return submitted;
  }
}

function idempotent(): Record<string, string> {
  return { "Idempotency-Key": crypto.randomUUID() };
}

// What the service's answers hold of all that is read here.

function isVerdict({ call_id, status, state, attempt_number, max_attempts, tool_result }: any): boolean {
  const told = ["retry", "blocked"].includes(status);
  return isId(call_id) && typeof state === "string" && [attempt_number, max_attempts].every(Number.isInteger)
    && (told || status === null || status === "valid" || status === "unavailable")
    && (isObject(tool_result) ? typeof tool_result["content"] === "string" : !told && !tool_result);
}

function isWaiting({ call_id, state, guidance, expiry }: any): boolean {
  return isId(call_id) && typeof state === "string" && ["string", "undefined"].includes(typeof (expiry ?? undefined)) && (!guidance || isGuidance(guidance));
}

function isGuidance({ decision, text, max_attempts, base, patch }: any): boolean {
  const isOperation = (each: any) => isObject(each) && [each["op"], each["path"], each["from"] ?? ""].every((name) => typeof name === "string");
  return ["hint", "corrected", "accept", "reject"].includes(decision) && typeof text === "string" && Number.isInteger(max_attempts)
    && (!base || Number.isInteger(base.attempt)) && (!patch || (Array.isArray(patch) && patch.every(isOperation)));
}

function isImport({ registered, refused }: any): boolean {
  return [registered, refused].every((list) => Array.isArray(list) && list.every(isObject));
}

/** Tell whether an id can stand in an address. */
function isId(given: unknown): boolean {
  return typeof given === "string" && /^[!-~]+$/.test(given);
}

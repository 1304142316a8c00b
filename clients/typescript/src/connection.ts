/** One service and one key: requests that are sent again while that helps, and the refusals that come back. */

export interface ClientOptions {
  /** Where the service is; RETRYCONTRACT_URL by default, else http://127.0.0.1:8000. */
  url?: string;
  /** The agent's key; RETRYCONTRACT_API_KEY by default. */
  apiKey?: string;
  /** Seconds for which a request that did not get through is sent again. */
  patience?: number;
  fetch?: typeof globalThis.fetch;
}

export interface Asked {
  method: "GET" | "POST" | "PUT";
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
  /** Seconds that the service may hold the answer back. */
  wait?: number;
  signal?: AbortSignal | undefined;
  /** Tell whether an answer is what the service sends: another one may stand at its address. */
  fits?: (body: any) => boolean;
}

export interface Reply<T> {
  status: number;
  retryAfter: number;
  body: T;
}

/** Raised for what went wrong between agent and service; what a model got wrong is no error. */
export class ClientError extends Error {
  override name = "ClientError";
}

/** Raised when no answer came: is the service running there? */
export class UnreachableError extends ClientError {
  override name = "UnreachableError";
}

/** One fault of a request: where it is, its code and what is wrong. */
export interface Fault {
  pointer: string;
  code: string;
  detail: string;
}

/**
 * Raised when the service said no: status, stable code, detail, `errors` with pointers, and `candidates` where several
 * calls could be meant.
 */
export class RefusedError extends ClientError {
  override name = "RefusedError";
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly errors: readonly Fault[];
  readonly candidates: readonly string[];
  /** Of a request that was too large: how many bytes one may have. */
  readonly limit: number | undefined;

  constructor(status: number, problem: Record<string, unknown>) {
    const detail = text(problem["detail"]) || text(problem["title"]) || "no reason was given";
    const given = Array.isArray(problem["errors"]) ? (problem["errors"] as Partial<Fault>[]) : [];
    const errors = given.map((each) => ({ pointer: text(each?.pointer), code: text(each?.code), detail: text(each?.detail) }));
    super([`${status}: ${detail}`, ...errors.map((each) => `  ${each.pointer || "(root)"}: ${each.detail}`)].join("\n"));
    this.errors = errors;
    this.status = status;
    this.limit = Number.isInteger(problem["limit"]) ? Number(problem["limit"]) : undefined;
    this.code = text(problem["code"]);
    this.detail = detail;
    this.candidates = Array.isArray(problem["candidates"]) ? problem["candidates"].map(text) : [];
  }
}

/** Errors that a check of the agent's own has found, as `callback_error` takes them. */
export type Faults = { field_path: string; message: string }[];

const API = "/api/v1";
const ANSWER_SECONDS = 30; // for a request that the service does not hold
const FIRST_PAUSE = 0.5;
const LONGEST_PAUSE = 8;
// Too many requests, and what the service or a proxy says when it is away for the moment.
const PASSING = new Set([429, 502, 503, 504]);

export class Connection {
  readonly url: string;
  readonly #key: string;
  readonly #patience: number;
  readonly #fetch: typeof globalThis.fetch;

  constructor(options: ClientOptions) {
    knownOptions("a client", options, ["url", "apiKey", "patience", "fetch"]);
    const { url, apiKey, fetch } = options;
    this.url = address((url || variable("RETRYCONTRACT_URL") || "http://127.0.0.1:8000"));
    const key = text(apiKey || variable("RETRYCONTRACT_API_KEY")).trim();
    if (!/^[!-~]+$/.test(key)) throw new ClientError("give apiKey, or set RETRYCONTRACT_API_KEY; 'retrycontract agent create NAME' makes a key");
    this.#key = key;
    this.#patience = seconds("patience", options.patience ?? 30);
    if (typeof (fetch ?? globalThis.fetch) !== "function") throw new ClientError("fetch is a function");
    this.#fetch = fetch ?? globalThis.fetch;
  }

  /** Send a request, again where that helps; throws RefusedError, UnreachableError and what the signal aborts with. */
  async ask<T>(asked: Asked): Promise<Reply<T>> {
    // Written once, for a repetition must be the same to the letter.
    const body = asked.body === undefined ? undefined : written(asked.body);
    let givesUp = Infinity;
    for (let failures = 0; ; failures++) {
      const found = await this.#once(asked, body).catch((reason: unknown) => {
        asked.signal?.throwIfAborted();
        return new UnreachableError(`no answer from ${this.url}: ${words(reason)}`);
      });
      if (!(found instanceof Error) && !PASSING.has(found.status)) return this.#read<T>(asked, found);
      const now = Date.now();
      // From the first failure on: a long wait that went well until then has cost nothing.
      if (failures === 0) givesUp = now + this.#patience * 1000;
      const backoff = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** Math.min(failures, 10));
      // Jittered on top of what the service asks for, so that a crowd does not come back at once.
      const pause = (found instanceof Error ? 0 : found.retryAfter) + backoff * (0.5 + Math.random() / 2);
      if (now + pause * 1000 > givesUp) {
        if (found instanceof Error) throw found;
        return this.#read<T>(asked, found);
      }
      await sleep(pause, asked.signal);
    }
  }

  /** Send a request once; its answer has come when the last byte of it has. */
  async #once(asked: Asked, body: string | undefined): Promise<Reply<string>> {
    const patience = AbortSignal.timeout(((asked.wait ?? 0) + ANSWER_SECONDS) * 1000);
    const response = await this.#fetch(`${this.url}${API}${asked.path}`, {
      method: asked.method,
      headers: {
        Accept: "application/json",
        Authorization: `Bearer ${this.#key}`,
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...asked.headers,
      },
      ...(body === undefined ? {} : { body }),
      redirect: "error", // the key is for this address alone
      signal: asked.signal ? AbortSignal.any([asked.signal, patience]) : patience,
    });
    const asks = response.headers.get("Retry-After") ?? "";
    return { status: response.status, retryAfter: /^\d{1,6}$/.test(asks) ? Number(asks) : 0, body: await response.text() };
  }

  #read<T>({ fits }: Asked, reply: Reply<string>): Reply<T> {
    let body: unknown;
    try {
      body = JSON.parse(reply.body);
    } catch {
      throw new ClientError(`${this.url} answered ${reply.status} and no JSON: is the service there?`);
    }
    if (reply.status >= 400) throw new RefusedError(reply.status, (body ?? {}) as Record<string, unknown>);
    if (fits && !(isObject(body) && fits(body))) {
      throw new ClientError(`${this.url} answered ${reply.status} with something else than it should: is it the address of the service, and of this client's version?`);
    }
    return { ...reply, body: body as T };
  }
}

/** Refuse options that are none: they would be ignored without a word. */
export function knownOptions(of: string, given: unknown, names: readonly string[]): void {
  if (!isObject(given)) throw new ClientError(`the options of ${of} are an object: { ${names.join(", ")} }`);
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (unknown !== undefined) throw new ClientError(`${JSON.stringify(unknown.slice(0, 80))} is no option of ${of}; there is ${names.join(", ")}`);
}

/** Refuse what is no number of seconds: it would fail, or wait for ever, much later. */
export function seconds(name: string, given: unknown): number {
  if (typeof given !== "number" || Number.isNaN(given) || given < 0) throw new ClientError(`${name} is a number of seconds`);
  return given;
}

/** Give an address that can be asked; what is refused is not repeated, since it may hold a password. */
function address(given: unknown): string {
  const kept = text(given).trim().replace(/\/+$/, "");
  const found = /\s/.test(kept) || !URL.canParse(kept) ? undefined : new URL(kept);
  if (!found || !/^https?:$/.test(found.protocol) || found.username || found.password || /[?#]/.test(kept)) {
    throw new ClientError("the service's address is http:// or https:// and a host, with no user name, blank or query in it: give url, or set RETRYCONTRACT_URL");
  }
  if (kept.endsWith(API)) throw new ClientError(`the service's address stands without ${API}, which is put behind it`);
  return kept;
}

/** Write a value as JSON; throws ClientError for what is none (a cycle, a BigInt, a depth without end). */
export function written(given: unknown): string {
  try {
    return JSON.stringify(given);
  } catch (error) {
    throw new ClientError(`what was given cannot be written as JSON: ${words(error)}`, { cause: error });
  }
}

/** Tell whether writing failed since a value is nested too deeply: JSON.parse reads deeper than JSON.stringify writes. */
export function isTooDeep(failed: unknown): boolean {
  return failed instanceof ClientError && failed.cause instanceof RangeError && /stack/.test(failed.cause.message);
}

/** Write a value as JSON with its keys in order, so that equal values are equal texts; nothing for what is no JSON. */
export function sortedText(value: unknown): string | undefined {
  const sorted = (_: string, each: unknown) =>
    isObject(each) ? Object.fromEntries(Object.entries(each).sort(([one], [other]) => (one < other ? -1 : 1))) : each;
  try {
    return JSON.stringify(value, sorted);
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Give what is a text, and nothing for what is none: some values of JSON cannot be made one. */
function text(given: unknown): string {
  return typeof given === "string" ? given : "";
}

export function sleep(seconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, seconds * 1000);
    signal?.addEventListener("abort", abort, { once: true });
  });
}

function words(reason: unknown): string {
  const cause = reason instanceof Error && reason.cause instanceof Error ? reason.cause : reason;
  return cause instanceof Error ? cause.message : String(cause);
}

function variable(name: string): string | undefined {
  return globalThis.process?.env[name] || undefined;
}

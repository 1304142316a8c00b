/** JSON Patch (RFC 6902), as far as corrections use it: add, remove, replace, move. */

import { ClientError, isObject } from "./connection.js";

export interface Operation {
  op: string;
  path: string;
  from?: string;
  value?: unknown;
}

/** Raised where a correction does not fit what was sent, or rests on what this client has not sent. */
export class CorrectionError extends ClientError {
  override name = "CorrectionError";
}

/** Give a copy of a value with the operations applied to it; throws CorrectionError. */
export function applyPatch(value: unknown, operations: readonly Operation[]): unknown {
  const holder = { root: structuredClone(value) };
  for (const operation of operations) apply(holder, operation);
  return holder.root;
}

type Holder = { root: unknown };

function apply(holder: Holder, operation: Operation): void {
  switch (operation.op) {
    case "add":
      return put(holder, operation.path, operation.value, true);
    case "replace":
      read(holder, operation.path);
      return put(holder, operation.path, operation.value, false);
    case "remove":
      take(holder, operation.path);
      return;
    case "move":
      if (operation.path.startsWith(`${operation.from}/`)) throw new CorrectionError("nothing can be moved into itself");
      return put(holder, operation.path, take(holder, operation.from ?? ""), true);
    default:
      throw new CorrectionError(`no operation: ${operation.op}`);
  }
}

function tokens(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function child(parent: unknown, token: string): unknown {
  if (Array.isArray(parent) && /^(0|[1-9]\d*)$/.test(token) && Number(token) < parent.length) {
    return parent[Number(token)];
  }
  if (isObject(parent) && Object.hasOwn(parent, token)) return parent[token];
  throw new CorrectionError(`nothing stands at '${token}'`);
}

function read(holder: Holder, pointer: string): unknown {
  return tokens(pointer).reduce(child, holder.root);
}

function put(holder: Holder, pointer: string, value: unknown, inserts: boolean): void {
  const path = tokens(pointer);
  const last = path.pop();
  if (last === undefined) {
    holder.root = value;
    return;
  }
  const parent = path.reduce(child, holder.root);
  if (Array.isArray(parent)) {
    const at = last === "-" ? parent.length : Number(last);
    if (!Number.isInteger(at) || at < 0 || at > parent.length) throw new CorrectionError(`no place '${last}' in a list`);
    parent.splice(at, inserts ? 0 : 1, value);
  } else if (isObject(parent)) {
    // Not by assignment: "__proto__" is a name like any other here.
    Object.defineProperty(parent, last, { value, configurable: true, enumerable: true, writable: true });
  } else {
    throw new CorrectionError(`nothing can stand at '${last}'`);
  }
}

function take(holder: Holder, pointer: string): unknown {
  const found = read(holder, pointer);
  const path = tokens(pointer);
  const last = path.pop();
  if (last === undefined) throw new CorrectionError("the whole value cannot be removed");
  const parent = path.reduce(child, holder.root);
  if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else delete (parent as Record<string, unknown>)[last];
  return found;
}

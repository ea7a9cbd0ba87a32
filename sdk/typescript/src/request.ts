import { invalid } from "./errors.js";
import type { Again, Verb } from "./verb.js";

/** @internal */
export type Arg = string | Buffer;

/** Strings are encoded as UTF-8. */
export type Key = string | Uint8Array;

/** One command, encoded once and sent unchanged at every attempt. @internal */
export class Request {
  readonly command: string;
  again: Again;
  readonly args: Arg[];
  /** About how many bytes it has. */
  bytes = 1024;
  /** The trace that it is part of, by the W3C's Trace Context. */
  traceparent: string | undefined;
  /** Settles when what was sent last is answered or its connection has ended, also if the call is over by then. */
  sent: Promise<unknown> | undefined;

  constructor(verb: Verb, ...args: Arg[]) {
    this.command = verb.command;
    this.again = verb.again;
    this.args = [verb.command];
    this.addAll(args);
  }

  add(...args: Arg[]): this {
    return this.addAll(args);
  }

  /** Like add: a call takes tens of thousands of arguments at most. */
  addAll(args: Iterable<Arg>): this {
    for (const a of args) {
      if (typeof a !== "string" && !Buffer.isBuffer(a)) throw invalid(`${this.command} with ${kind(a)} in it`);
      this.args.push(a);
      this.bytes += a.length + 16;
    }
    return this;
  }

  option(name: string, value: number | undefined): this {
    return value === undefined ? this : this.add(name, integer(name.toLowerCase(), value));
  }

  messages(messages: readonly { id: string; data: Arg }[]): this {
    for (const m of messages) this.add("MSG", m.id, m.data);
    return this;
  }
}

/** @internal */
export function integer(name: string, value: number): string {
  if (typeof value !== "number") throw invalid(`${name} is ${kind(value)}, not a number`);
  if (!Number.isSafeInteger(value) || value < 0) throw invalid(`${name} ${value} is not a whole number`);
  return String(value);
}

/**
 * Returns what is sent for a string or bytes. Bytes are copied: a later attempt must send the same. A
 * string with half a surrogate pair has no UTF-8, and would come back as another one.
 *
 * @internal
 */
export function encode(what: string, value: string | ArrayBufferView | ArrayBuffer): Arg {
  if (ArrayBuffer.isView(value)) {
    return Buffer.from(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
  }
  if (value instanceof ArrayBuffer) return Buffer.from(new Uint8Array(value));
  if (typeof value !== "string") throw invalid(`${what} is ${kind(value)}, not text or bytes`);
  if (!value.isWellFormed()) throw invalid(`${what} has an unpaired surrogate, which UTF-8 cannot express`);
  return value;
}

/**
 * What a value is, in words: a program without types may pass anything.
 *
 * @internal
 */
export function kind(value: unknown): string {
  if (typeof value !== "object" || value === null) return value === null ? "null" : typeof value;
  return Array.isArray(value) ? "an array" : `an object (${value.constructor?.name ?? "without prototype"})`;
}

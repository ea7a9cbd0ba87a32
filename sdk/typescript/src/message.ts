import { invalid } from "./errors.js";
import { encode, kind, type Arg } from "./request.js";

/**
 * What a message holds: text and bytes (also those of an ArrayBuffer, or of any view of one) as they are, anything
 * else as its JSON. An object that JSON would make empty, such as a Map, an Error or a Promise, is `INVALID`.
 */
export type Data = string | Uint8Array | object;

/** A message to append. */
export interface NewMessage {
  /**
   * Identifies the message, 1 to 64 bytes: appended again under the same id it is stored once. Without
   * one the client makes one, which protects the retries within one call.
   */
  id?: string | undefined;
  data: Data;
}

/** Names one message of a session, by its seq or by the id that it was appended with. */
export type MessageRef = { seq: number } | { id: string };

/** A message of a session. */
export class Message {
  constructor(
    /** Its number in the session: from 1, rising, never given twice. */
    readonly seq: number,
    /** When it was appended, in Unix milliseconds of the cluster's clock. */
    readonly time: number,
    /** Empty if it has none. */
    readonly id: string,
    /** The payload, byte for byte. */
    readonly data: Uint8Array,
  ) {}

  /** The payload as UTF-8. */
  get text(): string {
    return Buffer.from(this.data.buffer, this.data.byteOffset, this.data.byteLength).toString();
  }

  /** The payload, parsed as JSON; a SyntaxError if it is none. */
  json<T = unknown>(): T {
    return JSON.parse(this.text) as T;
  }
}

/** @internal */
export function encodeMessages(
  messages: readonly NewMessage[],
  newId: () => string,
): { id: string; data: Arg }[] {
  return messages.map((m) => {
    if (typeof m !== "object" || m === null) throw invalid(`a message is ${kind(m)}, not an object with data`);
    const data = encodeData(m.data);
    return { id: m.id ? (encode("an id", m.id) as string) : newId(), data };
  });
}

/** @internal */
export function encodeData(data: Data, what = "a message"): Arg {
  if (typeof data === "string" || ArrayBuffer.isView(data) || data instanceof ArrayBuffer)
    return encode(what, data);
  if (typeof data !== "object" || data === null)
    throw invalid(`${what} is ${kind(data)}, not text, bytes or an object`);
  let json: string | undefined;
  try {
    json = JSON.stringify(data);
  } catch (err) {
    throw invalid(`${what} has no JSON (${err instanceof Error ? err.message : String(err)})`, err);
  }
  if (json === undefined) throw invalid(`${what} has no JSON: its toJSON returned undefined`);
  if (json === "{}" && !isPlain(data)) throw invalid(`${what} is ${kind(data)}, whose JSON would be empty`);
  return json;
}

/** Whether an object is one of {}, of this realm or another. */
function isPlain(data: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(data);
  return prototype === null || Object.getPrototypeOf(prototype) === null || "toJSON" in data;
}

import { invalid } from "./errors.js";
import { encode, type Arg } from "./request.js";

/** What a message holds: text and bytes as they are, anything else as its JSON. */
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
  return messages.map((m) => ({
    id: m.id ? (encode("an id", m.id) as string) : newId(),
    data: encodeData(m.data),
  }));
}

/** @internal */
export function encodeData(data: Data, what = "a message"): Arg {
  if (typeof data === "string" || data instanceof Uint8Array) return encode(what, data);
  const json: string | undefined = typeof data === "object" && data !== null ? JSON.stringify(data) : undefined;
  if (json === undefined)
    throw invalid(`${what} is ${data === null ? "null" : typeof data}, not text, bytes or an object`);
  return json;
}

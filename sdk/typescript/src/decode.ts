import type { Reply } from "./connection.js";
import { TurnlogError } from "./errors.js";
import { Message } from "./message.js";

/** The error of a reply that is not what it must be. What was asked for may have taken place. @internal */
export function malformed(what: string): TurnlogError {
  return new TurnlogError("UNKNOWN_OUTCOME", `the server's reply cannot be decoded: ${what}`);
}

/** The named values of a reply. @internal */
export class Fields {
  readonly #values = new Map<string, Reply>();

  constructor(reply: Reply) {
    if (!Array.isArray(reply)) throw malformed("no map");
    for (let i = 0; i + 1 < reply.length; i += 2) this.#values.set(text(reply[i]!), reply[i + 1]!);
  }

  /** Returns a number, 0 if it is missing. */
  number(name: string): number {
    return Number(this.#values.get(name) ?? 0);
  }

  get(name: string): Reply {
    return this.#values.get(name) ?? null;
  }
}

/** @internal */
export function text(reply: Reply): string {
  if (typeof reply === "string") return reply;
  if (Buffer.isBuffer(reply)) return reply.toString();
  if (typeof reply === "number") return String(reply);
  throw malformed("no string");
}

/** Reads an array of `[seq, time, id, payload]`. @internal */
export function messages(reply: Reply): Message[] {
  if (!Array.isArray(reply)) throw malformed("no messages");
  return reply.map((m) => {
    if (!Array.isArray(m) || m.length !== 4) throw malformed("a message is not [seq, time, id, payload]");
    return new Message(Number(m[0]), Number(m[1]), text(m[2]!), m[3] as Buffer);
  });
}

/** @internal */
export function metadata(reply: Reply): Record<string, string> {
  const out: Record<string, string> = Object.create(null);
  if (reply === null) return out;
  if (!Array.isArray(reply)) throw malformed("metadata is no map");
  for (let i = 0; i + 1 < reply.length; i += 2) out[text(reply[i]!)] = text(reply[i + 1]!);
  return out;
}

/** Reads the fields of a hash, names and values in turn. @internal */
export function fields(reply: Reply): Record<string, Uint8Array> {
  const out: Record<string, Uint8Array> = Object.create(null);
  if (!Array.isArray(reply)) throw malformed("fields are no map");
  for (let i = 0; i + 1 < reply.length; i += 2) out[text(reply[i]!)] = reply[i + 1] as Buffer;
  return out;
}

/** What a session is, apart from its messages. Times are Unix milliseconds of the cluster's clock. */
export interface SessionInfo {
  /** The key as text; `keyBytes` has it exactly. */
  key: string;
  keyBytes: Uint8Array;
  /** Tells a session from an earlier one with the same key. */
  incarnation: number;
  /** Messages held, and the bytes of their payloads. */
  count: number;
  bytes: number;
  /** Seq of the oldest message held, and the highest ever given. */
  firstSeq: number;
  lastSeq: number;
  revision: number;
  created: number;
  updated: number;
  /** When the session is deleted; 0: never. */
  expiresAt: number;
  /** By how much each append moves `expiresAt`; 0: it does not. */
  slideMs: number;
  /** How many of its last messages, or turns, the session keeps by itself; 0: as many as come. */
  retainMessages: number;
  retainTurns: number;
  metadata: Record<string, string>;
}

/** @internal */
export function sessionInfo(reply: Reply): SessionInfo {
  const f = new Fields(reply);
  const key = f.get("key") as Buffer;
  return {
    key: text(key),
    keyBytes: key,
    incarnation: f.number("incarnation"),
    count: f.number("count"),
    bytes: f.number("bytes"),
    firstSeq: f.number("first_seq"),
    lastSeq: f.number("last_seq"),
    revision: f.number("revision"),
    created: f.number("created"),
    updated: f.number("updated"),
    expiresAt: f.number("expires_at"),
    slideMs: f.number("slide_ms"),
    retainMessages: f.number("retain_messages"),
    retainTurns: f.number("retain_turns"),
    metadata: metadata(f.get("metadata")),
  };
}

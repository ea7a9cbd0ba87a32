import type { CallOptions } from "./call.js";
import { invalid } from "./errors.js";
import { encodeData, encodeMessages, type Data, type MessageRef, type NewMessage } from "./message.js";
import type { AppendOptions } from "./options.js";
import { Request, encode, integer, kind, type Arg, type Key } from "./request.js";
import { verbs } from "./verb.js";

// The requests of changes: what a Session sends alone, and what the steps of a Transaction consist of.

/** The messages of a turn, or one. */
export type Turn = readonly NewMessage[] | NewMessage;

/** Which messages a trim leaves. */
export type Trimming = { keep: number } | { before: number };

/** How much a session is to keep by itself. */
export type Retention = { messages: number } | { turns: number } | "all";

/** The side of a session that a pop takes from. */
export type Side = "newest" | "head" | "tail";

/** @internal */
export function encodeKey(key: Key): Arg {
  if (key?.length === 0) throw invalid("session key is empty");
  return encode("a session key", key);
}

/** @internal */
export function append(key: Arg, turn: Turn, o: Omit<AppendOptions, keyof CallOptions>, newId: () => string) {
  const r = new Request(verbs.append, key).option("EXPECT", o.expect);
  if (o.ttl !== undefined) r.option("PX", milliseconds(o.ttl));
  if (o.mustExist) r.add("EXISTING");
  const messages = encodeMessages(list(turn), newId);
  if (messages.length === 0) throw invalid("append needs at least one message");
  return changes(r, o.metadata ?? {}, o.unset ?? []).messages(messages);
}

/** @internal */
export function replace(key: Arg, from: number, turn: Turn, newId: () => string): Request {
  const encoded = encodeMessages(list(turn), newId);
  const r = new Request(verbs.replace, key, "FROM", integer("from", from));
  if (encoded.length === 0) r.again = "never";
  return r.messages(encoded);
}

/** @internal */
export function pop(key: Arg, n: number, from: Side): Request {
  return new Request(verbs.pop, key).option("COUNT", n).add("FROM", from.toUpperCase());
}

/** @internal */
export function trim(key: Arg, what: Trimming): Request {
  const r = new Request(verbs.trim, key);
  return "keep" in what ? r.option("KEEP", what.keep) : r.option("BEFORE", what.before);
}

/** @internal */
export function edit(key: Arg, message: MessageRef, data: Data): Request {
  return named(new Request(verbs.edit, key), message).add(encodeData(data));
}

/** @internal */
export function remove(key: Arg, message: MessageRef): Request {
  return named(new Request(verbs.remove, key), message);
}

/** @internal */
export function rename(key: Arg, to: Key, replaces: boolean | undefined): Request {
  const r = new Request(verbs.rename, key, encodeKey(to));
  return replaces ? r.add("REPLACE") : r;
}

/** @internal */
export function setMetadata(key: Arg, set: Record<string, string>, unset: readonly string[] = []): Request {
  const r = changes(new Request(verbs.setMetadata, key), set, unset);
  if (r.args.length === 2) throw invalid("no metadata to set or unset");
  return r;
}

/** @internal */
export function retain(key: Arg, what: Retention): Request {
  const r = new Request(verbs.retain, key);
  if (what === "all") return r.add("ALL");
  return "messages" in what ? r.option("MESSAGES", what.messages) : r.option("TURNS", what.turns);
}

/** @internal */
export function expire(key: Arg, ttl: number, slide: boolean | undefined): Request {
  const r = new Request(verbs.expire, key).option("PX", milliseconds(ttl));
  return slide ? r.add("SLIDE") : r;
}

/** @internal */
export function persist(key: Arg): Request {
  return new Request(verbs.expire, key, "NEVER");
}

/** @internal */
export function setFields(key: Arg, fields: Record<string, Data>): Request {
  const r = new Request(verbs.setFields, key);
  for (const [name, value] of Object.entries(fields))
    r.add(encode("a field", name), encodeData(value, "a field"));
  return some(r);
}

/** @internal */
export function removeFields(key: Arg, names: readonly string[]): Request {
  return some(fields(new Request(verbs.removeFields, key), names));
}

/** @internal */
export function getFields(key: Arg, names: readonly string[]): Request {
  return some(fields(new Request(verbs.fields, key), names));
}

function fields(r: Request, names: readonly string[]): Request {
  return r.addAll(names.map((name) => encode("a field", name)));
}

function some(r: Request): Request {
  if (r.args.length === 2) throw invalid("no fields are named");
  return r;
}

function changes(r: Request, set: Record<string, string>, unset: readonly string[]): Request {
  for (const [k, v] of Object.entries(set)) r.add("SET", encode("metadata", k), encode("metadata", v));
  for (const k of unset) r.add("UNSET", encode("metadata", k));
  return r;
}

function list(turn: Turn): readonly NewMessage[] {
  return Array.isArray(turn) ? turn : [turn as NewMessage];
}

function named(r: Request, message: MessageRef): Request {
  if (typeof message !== "object" || message === null)
    throw invalid(`a message is named by ${kind(message)}, not { seq } or { id }`);
  return "seq" in message
    ? r.add("SEQ", integer("seq", message.seq))
    : r.add("ID", encode("an id", message.id));
}

/** Rounds up, so that a ttl never ends early. */
function milliseconds(ttl: number): number {
  if (!(ttl >= 0)) throw invalid(`ttl ${ttl} is not a number of milliseconds`);
  return Math.ceil(ttl);
}

import type { CallOptions } from "./call.js";
import type { Client } from "./client.js";
import type { Reply } from "./connection.js";
import { Fields, messages, metadata, sessionInfo, type SessionInfo } from "./decode.js";
import { TurnlogError, invalid } from "./errors.js";
import {
  encodeData,
  encodeMessages,
  type Data,
  type Message,
  type MessageRef,
  type NewMessage,
} from "./message.js";
import { Request, encode, integer, type Arg, type Key } from "./request.js";
import { Tail } from "./tail.js";
import { verbs, type Verb } from "./verb.js";

/** What bounds a write, and what it depends on. */
export interface WriteOptions extends CallOptions {
  /**
   * The write takes place only if the session's revision is still this one (0: if there is no such
   * session), and is a `CONFLICT` otherwise. Every answer carries the revision to expect next.
   */
  expect?: number | undefined;
}

/** What an append does beside its messages, with them or not at all. */
export interface AppendOptions extends WriteOptions {
  /** Sets the session's deadline to that many milliseconds from now, in cluster time. */
  ttl?: number | undefined;
  /** `NOT_FOUND` if there is no such session. */
  mustExist?: boolean | undefined;
  /** Is merged into the session's metadata. */
  metadata?: Record<string, string> | undefined;
  /** Keys that are removed from the metadata. */
  unset?: readonly string[] | undefined;
}

/** The answer to an append. */
export interface Appended {
  /** The seqs of the first and last message of the turn. */
  firstSeq: number;
  lastSeq: number;
  /** The revision after the append: what `expect` takes next. */
  revision: number;
  /** Messages that the session holds. */
  count: number;
  /**
   * An earlier call with the same ids, or an attempt of this one whose reply was lost, had appended them.
   * The seqs and the revision are then those of that append.
   */
  duplicate: boolean;
}

/** The answer to a write that removes messages. */
export interface Removed {
  removed: number;
  count: number;
  revision: number;
}

/** The answer to an edit of one message. */
export interface Edited {
  seq: number;
  /** Messages that the session holds. */
  count: number;
  /** It stays as it was if the message had that payload already. */
  revision: number;
}

/** The answer to a pop: what was removed, in that order. */
export interface Popped {
  messages: Message[];
  /** Messages that are left. */
  count: number;
  revision: number;
}

/** How fresh a read is: it sees every acknowledged write, or those older than `bounded` ms, or some past state. */
export type Consistency = "linearizable" | "stale" | { bounded: number };

/** What a read selects: the newest messages, or those after or before a seq. */
export interface ReadOptions extends CallOptions {
  /** The n newest messages. */
  last?: number | undefined;
  /** The messages with a seq above it, oldest first. */
  after?: number | undefined;
  /** The messages with a seq below it: the newest of them. */
  before?: number | undefined;
  limit?: number | undefined;
  /** Bounds the payloads together. */
  maxBytes?: number | undefined;
  /** Bounds the estimated tokens together; a tool call is never split from its result. */
  maxTokens?: number | undefined;
  /**
   * A tool call is not split from its result where `last` or `limit` cuts, either: fewer messages are
   * returned then, or, if nothing whole fits, the shortest whole end or beginning.
   */
  whole?: boolean | undefined;
  /** Messages of this time of the cluster's clock and later (number: Unix milliseconds). */
  since?: number | Date | undefined;
  /** Messages before this time. */
  until?: number | Date | undefined;
  consistency?: Consistency | undefined;
}

/**
 * The answer to a read, messages in commit order. For a session that does not exist all of it is zero, so
 * `expect: history.revision` holds as long as what was read is current.
 */
export interface History {
  messages: Message[];
  revision: number;
  incarnation: number;
  /** Seq of the oldest message held, and the highest ever given. */
  firstSeq: number;
  lastSeq: number;
  /** Messages held. */
  count: number;
  /** There are more messages in the direction that was read. */
  more: boolean;
}

const pageMessages = 512;
const pageBytes = 4 << 20;

/** A handle on the session of one key. */
export class Session {
  readonly key: Key;
  readonly #client: Client;
  readonly #key: Arg;

  /** @internal */
  constructor(client: Client, key: Key) {
    if (key.length === 0) throw invalid("session key is empty");
    this.key = key;
    this.#client = client;
    this.#key = encode("a session key", key);
  }

  /**
   * Appends a turn at the end of the session: all messages, or none.
   */
  async append(turn: readonly NewMessage[] | NewMessage, options: AppendOptions = {}): Promise<Appended> {
    const r = this.#write(verbs.append, options);
    if (options.ttl !== undefined) r.option("PX", milliseconds(options.ttl));
    if (options.mustExist) r.add("EXISTING");
    changes(r, options.metadata ?? {}, options.unset ?? []);
    r.messages(encodeMessages(list(turn), this.#client.settings.newId));
    return appended(await this.#client.send(r, options));
  }

  /**
   * Removes every message with a seq from `from` on and appends others, at once; the session must exist.
   * Without messages nothing identifies the call, and it may end in `UNKNOWN_OUTCOME`.
   */
  async replace(
    from: number,
    turn: readonly NewMessage[] | NewMessage,
    options: WriteOptions = {},
  ): Promise<Appended & { removed: number }> {
    const r = this.#request(verbs.replace).add("FROM", integer("from", from)).option("EXPECT", options.expect);
    const encoded = encodeMessages(list(turn), this.#client.settings.newId);
    if (encoded.length === 0) r.again = "never";
    const reply = await this.#client.send(r.messages(encoded), options);
    return { ...appended(reply), removed: new Fields(reply).number("removed") };
  }

  /**
   * Removes and returns up to n messages from one side: `newest` takes the highest seqs first; `tail` and
   * `head` are the ends of the Redis list.
   */
  async pop(
    n = 1,
    options: WriteOptions & { from?: "newest" | "head" | "tail" | undefined } = {},
  ): Promise<Popped> {
    const r = this.#request(verbs.pop).option("COUNT", n).option("EXPECT", options.expect);
    r.add("FROM", (options.from ?? "newest").toUpperCase());
    const f = new Fields(await this.#client.send(r, options));
    return { messages: messages(f.get("messages")), count: f.number("count"), revision: f.number("revision") };
  }

  /** Removes the oldest messages: all but the `keep` newest, or those with a seq below `before`. */
  async trim(what: { keep: number } | { before: number }, options: WriteOptions = {}): Promise<Removed> {
    const r = this.#request(verbs.trim);
    if ("keep" in what) r.option("KEEP", what.keep);
    else r.option("BEFORE", what.before);
    return removed(await this.#client.send(r.option("EXPECT", options.expect), options));
  }

  /**
   * Gives one message another payload; `NOT_FOUND` if the session holds no such message. The message keeps
   * its seq, time and id. A retry of its append is still recognised, and does not undo the edit; a tail does
   * not deliver the message again.
   */
  async edit(message: MessageRef, data: Data, options: WriteOptions = {}): Promise<Edited> {
    const r = named(this.#request(verbs.edit), message).add(encodeData(data));
    const f = new Fields(await this.#client.send(r.option("EXPECT", options.expect), options));
    return { seq: f.number("seq"), count: f.number("count"), revision: f.number("revision") };
  }

  /**
   * Removes one message; `removed` is 0 if the session holds no such message. Others keep their seqs, and a
   * retry of its append does not bring it back.
   */
  async remove(message: MessageRef, options: WriteOptions = {}): Promise<Removed> {
    const r = named(this.#request(verbs.remove), message).option("EXPECT", options.expect);
    return removed(await this.#client.send(r, options));
  }

  /** Removes all messages and keeps the session, its metadata and numbering. */
  async clear(options: WriteOptions = {}): Promise<Removed> {
    return removed(await this.#client.send(this.#write(verbs.clear, options), options));
  }

  /** Removes the session and reports whether there was one. */
  async delete(options: WriteOptions = {}): Promise<boolean> {
    return removed(await this.#client.send(this.#write(verbs.delete, options), options)).removed > 0;
  }

  /**
   * Copies the messages up to the seq `at` (without it: all) and the metadata into the session `to`, which
   * must not exist.
   */
  async fork(
    to: Key,
    options: WriteOptions & { at?: number | undefined } = {},
  ): Promise<Omit<Appended, "duplicate">> {
    const r = this.#request(verbs.fork).add(encode("a session key", to));
    r.option("AT", options.at).option("EXPECT", options.expect);
    const { duplicate: _, ...forked } = appended(await this.#client.send(r, options));
    return forked;
  }

  /**
   * Moves all of the session to the key `to`, which must not exist, and returns its revision there; with
   * `replace`, what `to` holds is deleted. Messages keep their seqs and ids; a retried append to the former key
   * is still recognised.
   */
  async rename(to: Key, options: WriteOptions & { replace?: boolean | undefined } = {}): Promise<number> {
    const r = this.#request(verbs.rename).add(encode("a session key", to));
    if (options.replace) r.add("REPLACE");
    return new Fields(await this.#client.send(r.option("EXPECT", options.expect), options)).number("revision");
  }

  /**
   * Merges `set` into the session's metadata, removes the keys in `unset`, and returns the revision. The
   * session is created if need be.
   */
  async setMetadata(
    set: Record<string, string>,
    options: WriteOptions & { unset?: readonly string[] | undefined } = {},
  ): Promise<number> {
    const r = this.#request(verbs.setMetadata);
    changes(r, set, options.unset ?? []);
    if (r.args.length === 2) throw invalid("no metadata to set or unset");
    return new Fields(await this.#client.send(r.option("EXPECT", options.expect), options)).number("revision");
  }

  /** Returns the session's metadata, empty if there is none or no session. */
  async metadata(options: CallOptions = {}): Promise<Record<string, string>> {
    return metadata(await this.#client.send(this.#request(verbs.metadata), options));
  }

  /**
   * Sets how much the session keeps by itself from here on, creating it if needed, and drops what is beyond
   * it at once: its last messages, or its last turns, that is appends; or all. A tool call is not parted from
   * its result.
   */
  async retain(
    what: { messages: number } | { turns: number } | "all",
    options: WriteOptions = {},
  ): Promise<Removed> {
    const r = this.#request(verbs.retain);
    if (what === "all") r.add("ALL");
    else if ("messages" in what) r.option("MESSAGES", what.messages);
    else r.option("TURNS", what.turns);
    return removed(await this.#client.send(r.option("EXPECT", options.expect), options));
  }

  /**
   * Deletes the session when `ttl` milliseconds have passed in cluster time; with `slide` every later
   * append begins that time again. Reports whether there is such a session.
   */
  async expire(ttl: number, options: WriteOptions & { slide?: boolean | undefined } = {}): Promise<boolean> {
    const r = this.#request(verbs.expire).option("PX", milliseconds(ttl));
    if (options.slide) r.add("SLIDE");
    return this.#changed(r, options);
  }

  /** Deletes the session at a time of the cluster's clock (Unix milliseconds). */
  async expireAt(time: number | Date, options: WriteOptions = {}): Promise<boolean> {
    return this.#changed(this.#request(verbs.expire).option("PXAT", Math.ceil(Number(time))), options);
  }

  /** Removes the session's deadline and reports whether it had one. */
  async persist(options: WriteOptions = {}): Promise<boolean> {
    return this.#changed(this.#request(verbs.expire).add("NEVER"), options);
  }

  async #changed(r: Request, options: WriteOptions): Promise<boolean> {
    return Number(await this.#client.send(r.option("EXPECT", options.expect), options)) > 0;
  }

  /** Returns the n newest messages. */
  last(n: number, options: Omit<ReadOptions, "last" | "after" | "before"> = {}): Promise<History> {
    return this.read({ ...options, last: n });
  }

  /** Returns the messages that the options select; without any, all that one reply holds. */
  async read(options: ReadOptions = {}): Promise<History> {
    return history(await this.#client.send(this.readRequest(options), options));
  }

  /** Yields every message with a seq above `after`, page by page, up to the end at that moment. */
  async *all(
    after = 0,
    options: CallOptions & { consistency?: Consistency | undefined } = {},
  ): AsyncGenerator<Message, void, undefined> {
    for (let more = true; more;) {
      const page = await this.read({ ...options, after, limit: pageMessages, maxBytes: pageBytes });
      for (const m of page.messages) {
        after = m.seq;
        yield m;
      }
      more = page.more;
    }
  }

  /**
   * Yields every message with a seq above `after`, once and in order: those that are there, then each as it
   * is committed. It goes on over lost connections and failing nodes; after an outage longer than
   * `Config.retryFor`, or when `signal` aborts, it throws. When the session is deleted and made again, it
   * goes on with the first message of the new one, whose seqs begin at 1 again.
   *
   * It holds one connection while it is iterated over.
   */
  tail(
    after = 0,
    options: { signal?: AbortSignal | undefined } = {},
  ): AsyncGenerator<Message, void, undefined> {
    return new Tail(this.#client, this, after, options).messages();
  }

  /** Describes the session; `NOT_FOUND` if there is none. */
  async info(options: CallOptions = {}): Promise<SessionInfo> {
    const reply = await this.#client.send(this.#request(verbs.info), options);
    if (reply === null)
      throw new TurnlogError("NOT_FOUND", `there is no session ${JSON.stringify(String(this.key))}`);
    return sessionInfo(reply);
  }

  #request(verb: Verb): Request {
    return new Request(verb, this.#key);
  }

  #write(verb: Verb, options: WriteOptions): Request {
    return this.#request(verb).option("EXPECT", options.expect);
  }

  /** @internal */
  readRequest(o: ReadOptions): Request {
    const r = this.#request(verbs.read);
    if (o.after !== undefined) r.option("AFTER", o.after).option("LIMIT", o.limit);
    else if (o.before !== undefined) r.option("BEFORE", o.before).option("LIMIT", o.limit);
    else r.option("LAST", o.last ?? o.limit);
    r.option("MAXBYTES", o.maxBytes).option("MAXTOKENS", o.maxTokens);
    if (o.whole) r.add("WHOLE");
    r.option("SINCE", moment(o.since)).option("UNTIL", moment(o.until));
    if (o.consistency === "stale") r.add("CONSISTENCY", "STALE");
    else if (typeof o.consistency === "object")
      r.add("CONSISTENCY", "BOUNDED", integer("bounded", o.consistency.bounded));
    return r;
  }

  /** Waits until there is a message after a seq. @internal */
  waitRequest(after: number, block: number): Request {
    return this.#request(verbs.tail).option("AFTER", after).add("COUNT", "1").option("BLOCK", block);
  }
}

function changes(r: Request, set: Record<string, string>, unset: readonly string[]): void {
  for (const [k, v] of Object.entries(set)) r.add("SET", encode("metadata", k), encode("metadata", v));
  for (const k of unset) r.add("UNSET", encode("metadata", k));
}

function list(turn: readonly NewMessage[] | NewMessage): readonly NewMessage[] {
  return Array.isArray(turn) ? turn : [turn as NewMessage];
}

function named(r: Request, message: MessageRef): Request {
  return "seq" in message
    ? r.add("SEQ", integer("seq", message.seq))
    : r.add("ID", encode("an id", message.id));
}

function moment(time: number | Date | undefined): number | undefined {
  return time === undefined ? undefined : Math.max(1, Math.ceil(Number(time)));
}

/** Rounds up, so that a ttl never ends early. */
function milliseconds(ttl: number): number {
  return Math.ceil(ttl);
}

function appended(reply: Reply): Appended {
  const f = new Fields(reply);
  return {
    firstSeq: f.number("first_seq"),
    lastSeq: f.number("last_seq"),
    revision: f.number("revision"),
    count: f.number("count"),
    duplicate: f.number("duplicate") !== 0,
  };
}

function removed(reply: Reply): Removed {
  const f = new Fields(reply);
  return { removed: f.number("removed"), count: f.number("count"), revision: f.number("revision") };
}

/** @internal */
export function history(reply: Reply): History {
  const f = new Fields(reply);
  return {
    messages: messages(f.get("messages")),
    revision: f.number("revision"),
    incarnation: f.number("incarnation"),
    firstSeq: f.number("first_seq"),
    lastSeq: f.number("last_seq"),
    count: f.number("count"),
    more: f.number("more") !== 0,
  };
}

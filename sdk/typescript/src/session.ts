import type { CallOptions } from "./call.js";
import type { Client } from "./client.js";
import type { Reply } from "./connection.js";
import { metadata, sessionInfo, type SessionInfo } from "./decode.js";
import { TurnlogError } from "./errors.js";
import type { Data, Message, MessageRef, NewMessage } from "./message.js";
import type { AppendOptions, Consistency, ReadOptions, WriteOptions } from "./options.js";
import { Request, encode, integer, type Arg, type Key } from "./request.js";
import * as requests from "./requests.js";
import * as results from "./results.js";
import type { Appended, Edited, History, Popped, Removed, Replaced } from "./results.js";
import { Tail } from "./tail.js";
import { verbs, type Verb } from "./verb.js";

const pageMessages = 512;
const pageBytes = 4 << 20;

/** A handle on the session of one key. */
export class Session {
  readonly key: Key;
  readonly #client: Client;
  readonly #key: Arg;

  /** @internal */
  constructor(client: Client, key: Key) {
    this.key = key;
    this.#client = client;
    this.#key = requests.encodeKey(key);
  }

  /**
   * Appends a turn at the end of the session: all messages, or none.
   */
  async append(turn: readonly NewMessage[] | NewMessage, options: AppendOptions = {}): Promise<Appended> {
    const r = requests.append(this.#key, turn, options, this.#client.settings.newId);
    return results.appended(await this.#client.send(r, options));
  }

  /**
   * Removes every message with a seq from `from` on and appends others, at once; the session must exist.
   * Messages may have ids that were in use, except of messages that are kept.
   * Without messages nothing identifies the call, and it may end in `UNKNOWN_OUTCOME`.
   */
  async replace(
    from: number,
    turn: readonly NewMessage[] | NewMessage,
    options: WriteOptions = {},
  ): Promise<Replaced> {
    const r = requests.replace(this.#key, from, turn, this.#client.settings.newId);
    return results.replaced(await this.#write(r, options));
  }

  /**
   * Removes and returns up to n messages from one side: `newest` takes the highest seqs first; `tail` and
   * `head` are the ends of the Redis list.
   */
  async pop(n = 1, options: WriteOptions & { from?: requests.Side | undefined } = {}): Promise<Popped> {
    return results.popped(await this.#write(requests.pop(this.#key, n, options.from ?? "newest"), options));
  }

  /** Removes the oldest messages: all but the `keep` newest, or those with a seq below `before`. */
  async trim(what: requests.Trimming, options: WriteOptions = {}): Promise<Removed> {
    return results.removed(await this.#write(requests.trim(this.#key, what), options));
  }

  /**
   * Gives one message another payload; `NOT_FOUND` if the session holds no such message. The message keeps
   * its seq, time and id. A retry of its append is still recognised, and does not undo the edit; a tail does
   * not deliver the message again.
   */
  async edit(message: MessageRef, data: Data, options: WriteOptions = {}): Promise<Edited> {
    return results.edited(await this.#write(requests.edit(this.#key, message, data), options));
  }

  /**
   * Removes one message; `removed` is 0 if the session holds no such message. Others keep their seqs, and a
   * retry of its append does not bring it back.
   */
  async remove(message: MessageRef, options: WriteOptions = {}): Promise<Removed> {
    return results.removed(await this.#write(requests.remove(this.#key, message), options));
  }

  /** Removes all messages and keeps the session, its metadata and numbering. */
  async clear(options: WriteOptions = {}): Promise<Removed> {
    return results.removed(await this.#write(this.#request(verbs.clear), options));
  }

  /** Removes the session and reports whether there was one. */
  async delete(options: WriteOptions = {}): Promise<boolean> {
    return results.deleted(await this.#write(this.#request(verbs.delete), options));
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
    const { duplicate: _, ...forked } = results.appended(
      await this.#write(r.option("AT", options.at), options),
    );
    return forked;
  }

  /**
   * Moves all of the session to the key `to`, which must not exist, and returns its revision there; with
   * `replace`, what `to` holds is deleted. Messages keep their seqs and ids; a retried append to the former key
   * is still recognised.
   */
  async rename(to: Key, options: WriteOptions & { replace?: boolean | undefined } = {}): Promise<number> {
    return results.revision(await this.#write(requests.rename(this.#key, to, options.replace), options));
  }

  /**
   * Merges `set` into the session's metadata, removes the keys in `unset`, and returns the revision. The
   * session is created if need be.
   */
  async setMetadata(
    set: Record<string, string>,
    options: WriteOptions & { unset?: readonly string[] | undefined } = {},
  ): Promise<number> {
    return results.revision(await this.#write(requests.setMetadata(this.#key, set, options.unset), options));
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
  async retain(what: requests.Retention, options: WriteOptions = {}): Promise<Removed> {
    return results.removed(await this.#write(requests.retain(this.#key, what), options));
  }

  /**
   * Deletes the session when `ttl` milliseconds have passed in cluster time; with `slide` every later
   * append begins that time again. Reports whether there is such a session.
   */
  async expire(ttl: number, options: WriteOptions & { slide?: boolean | undefined } = {}): Promise<boolean> {
    return this.#changed(requests.expire(this.#key, ttl, options.slide), options);
  }

  /** Deletes the session at a time of the cluster's clock (Unix milliseconds). */
  async expireAt(time: number | Date, options: WriteOptions = {}): Promise<boolean> {
    return this.#changed(this.#request(verbs.expire).option("PXAT", Math.ceil(Number(time))), options);
  }

  /** Removes the session's deadline and reports whether it had one. */
  async persist(options: WriteOptions = {}): Promise<boolean> {
    return this.#changed(requests.persist(this.#key), options);
  }

  async #changed(r: Request, options: WriteOptions): Promise<boolean> {
    return results.changed(await this.#write(r, options)) > 0;
  }

  /** Returns the n newest messages. */
  last(n: number, options: Omit<ReadOptions, "last" | "after" | "before"> = {}): Promise<History> {
    return this.read({ ...options, last: n });
  }

  /** Returns the messages that the options select; without any, all that one reply holds. */
  async read(options: ReadOptions = {}): Promise<History> {
    return results.history(await this.#client.send(this.readRequest(options), options));
  }

  /**
   * Yields every message with a seq above `after`, page by page, up to the end at that moment. It throws a
   * `CONFLICT` if the session was deleted or renamed between two pages: the messages are never those of two
   * sessions.
   */
  async *all(
    after = 0,
    options: CallOptions & { consistency?: Consistency | undefined } = {},
  ): AsyncGenerator<Message, void, undefined> {
    let { consistency } = options;
    let [incarnation, lastSeq] = [0, 0];
    for (let more = true; more;) {
      const page = await this.read({
        ...options,
        consistency,
        after,
        limit: pageMessages,
        maxBytes: pageBytes,
      });
      const same = page.incarnation === incarnation;
      if (consistency !== undefined && (page.incarnation < incarnation || (same && page.lastSeq < lastSeq))) {
        consistency = undefined; // this node is behind the one that answered before
        continue;
      }
      if (incarnation !== 0 && !same) {
        const what = `the session was deleted or renamed while it was read, after seq ${String(after)}`;
        throw new TurnlogError("CONFLICT", what, { revision: page.revision });
      }
      ({ incarnation, lastSeq } = page);
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
   * It holds one connection while it is iterated over, and gives it back on `break`, or when `return` is called, also
   * while it waits for a message.
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

  #write(r: Request, options: WriteOptions): Promise<Reply> {
    return this.#client.send(r.option("EXPECT", options.expect), options);
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
    if (o.metadata) r.add("METADATA");
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

function moment(time: number | Date | undefined): number | undefined {
  return time === undefined ? undefined : Math.max(1, Math.ceil(Number(time)));
}

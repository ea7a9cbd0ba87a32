import type { CallOptions } from "./call.js";
import type { Client } from "./client.js";
import type { Reply } from "./connection.js";
import { Fields, malformed } from "./decode.js";
import { invalid } from "./errors.js";
import type { Data, MessageRef, NewMessage } from "./message.js";
import { Request, encode, integer, type Arg, type Key } from "./request.js";
import * as requests from "./requests.js";
import * as results from "./results.js";
import { verbs } from "./verb.js";

/** What a transaction did. When it is returned, a majority of the nodes has it on disk. */
export interface Committed<Steps extends unknown[]> {
  /** The namespace's revision then, which that of each changed key does not exceed. */
  revision: number;
  /**
   * An earlier commit with the same id, or an attempt of this one whose reply was lost, had carried it out;
   * the rest is the answer of then.
   */
  duplicate: boolean;
  /** What each step did, in their order: what the call of a Session or Hash would return. */
  steps: Steps;
}

/**
 * Changes several keys of the namespace at once: all of its steps take place, in their order and with
 * nothing in between, or none does. Its methods collect conditions and steps; `commit` sends them.
 *
 * A step sees what the steps before it changed; conditions are about the state before the first step. A
 * key holds either messages and metadata, or fields, unless `delete` comes in between.
 *
 * What each step does is decided before the first one: on one session, `edit` and `remove` come before
 * steps that add or remove others, and name a message that is there before the transaction. `pop`, and
 * `retain` by turns, come before all others that change messages. A key that is renamed, or renamed to, is
 * in no other step.
 *
 * Chained calls give each step's result its type. A transaction that is put together in a loop is a
 * `client.transaction<unknown[]>()`.
 */
export class Transaction<Steps extends unknown[] = []> {
  /**
   * The id by which, with the keys of its steps and conditions, the transaction is known for ten minutes: it
   * takes place once.
   */
  readonly id: string;
  readonly #client: Client;
  readonly #conditions: Arg[] = [];
  readonly #steps: Request[] = [];
  readonly #decoders: ((reply: Reply) => unknown)[] = [];

  /** @internal */
  constructor(client: Client, id: string) {
    this.id = encode("an id", id) as string;
    this.#client = client;
  }

  /** Requires that the revision of a key is this number; 0: there is no such key. */
  ifRevision(key: Key, revision: number): this {
    return this.#if(key, "REVISION", integer("revision", revision));
  }

  /** Requires that the highest seq that a session ever gave is this number; 0: none. */
  ifSeq(key: Key, seq: number): this {
    return this.#if(key, "SEQ", integer("seq", seq));
  }

  /** Requires that there is such a key. */
  ifExists(key: Key): this {
    return this.#if(key, "EXISTS");
  }

  /** Requires that there is no such key. */
  ifAbsent(key: Key): this {
    return this.#if(key, "ABSENT");
  }

  /**
   * Appends messages to a session, and merges metadata into it. A message without an id gets none: that of
   * the transaction keeps it from being appended twice. One that was appended before is a `CONFLICT`: it
   * belongs to another call.
   */
  append(
    key: Key,
    turn: readonly NewMessage[] | NewMessage,
    options: { metadata?: Record<string, string> | undefined } = {},
  ): Transaction<[...Steps, results.Appended]> {
    const { metadata } = options;
    return this.#step(requests.append(requests.encodeKey(key), turn, { metadata }, noId), results.appended);
  }

  /** Removes the messages of a session, which must exist, with a seq from `from` on and appends others. */
  replace(
    key: Key,
    from: number,
    turn: readonly NewMessage[] | NewMessage,
  ): Transaction<[...Steps, results.Replaced]> {
    return this.#step(requests.replace(requests.encodeKey(key), from, turn, noId), results.replaced);
  }

  /**
   * Removes up to n messages of one side; the step's result has them. All pops of a transaction take out
   * 9 MiB at most, each message counted with its id and 96 bytes more.
   */
  pop(key: Key, n = 1, from: requests.Side = "newest"): Transaction<[...Steps, results.Popped]> {
    return this.#step(requests.pop(requests.encodeKey(key), n, from), results.popped);
  }

  /** Gives one message another payload. */
  edit(key: Key, message: MessageRef, data: Data): Transaction<[...Steps, results.Edited]> {
    return this.#step(requests.edit(requests.encodeKey(key), message, data), results.edited);
  }

  /** Removes one message, if it is there. */
  remove(key: Key, message: MessageRef): Transaction<[...Steps, results.Removed]> {
    return this.#step(requests.remove(requests.encodeKey(key), message), results.removed);
  }

  /** Sets how much a session keeps by itself from here on, and drops what is beyond it. */
  retain(key: Key, what: requests.Retention): Transaction<[...Steps, results.Removed]> {
    return this.#step(requests.retain(requests.encodeKey(key), what), results.removed);
  }

  /** Moves what a key holds to another key, which must not exist unless `replace` is set. */
  rename(key: Key, to: Key, options: { replace?: boolean | undefined } = {}): Transaction<[...Steps, number]> {
    return this.#step(requests.rename(requests.encodeKey(key), to, options.replace), results.revision);
  }

  /** Merges `set` into a session's metadata and removes the keys in `unset`. */
  setMetadata(
    key: Key,
    set: Record<string, string>,
    options: { unset?: readonly string[] | undefined } = {},
  ): Transaction<[...Steps, number]> {
    return this.#step(requests.setMetadata(requests.encodeKey(key), set, options.unset), results.revision);
  }

  /** Sets fields of a hash; the step's result is how many are new. */
  setFields(key: Key, fields: Record<string, Data>): Transaction<[...Steps, number]> {
    return this.#step(requests.setFields(requests.encodeKey(key), fields), results.changed);
  }

  /** Removes fields of a hash; the step's result is how many there were. A hash without fields does not exist. */
  removeFields(key: Key, names: readonly string[]): Transaction<[...Steps, number]> {
    return this.#step(requests.removeFields(requests.encodeKey(key), names), results.changed);
  }

  /** Removes all but the `keep` newest messages, or those with a seq below `before`. */
  trim(key: Key, what: requests.Trimming): Transaction<[...Steps, results.Removed]> {
    return this.#step(requests.trim(requests.encodeKey(key), what), results.removed);
  }

  /** Removes all messages of a session; keeps the session. */
  clear(key: Key): Transaction<[...Steps, results.Removed]> {
    return this.#step(new Request(verbs.clear, requests.encodeKey(key)), results.removed);
  }

  /** Deletes a key, whatever it holds. */
  delete(key: Key): Transaction<[...Steps, boolean]> {
    return this.#step(new Request(verbs.delete, requests.encodeKey(key)), results.deleted);
  }

  /**
   * Deletes a key when `ttl` milliseconds have passed in cluster time; with `slide`, which is for sessions
   * alone, every later append begins that time again.
   */
  expire(
    key: Key,
    ttl: number,
    options: { slide?: boolean | undefined } = {},
  ): Transaction<[...Steps, boolean]> {
    return this.#step(requests.expire(requests.encodeKey(key), ttl, options.slide), any);
  }

  /** Removes the deadline of a key. */
  persist(key: Key): Transaction<[...Steps, boolean]> {
    return this.#step(requests.persist(requests.encodeKey(key)), any);
  }

  /**
   * Carries the transaction out. Called again, such as after `UNKNOWN_OUTCOME`, it sends the same id. If a
   * condition does not hold, that is a `CONFLICT` whose `condition` says which, from 1; if a step cannot take
   * place, the error's `step` does. Another transaction over the same keys under this id is `ID_REUSED`; one
   * over other keys is not the same, and takes place. Steps that are added meanwhile belong to the next call.
   */
  async commit(options: CallOptions = {}): Promise<Committed<Steps>> {
    if (this.#steps.length === 0) throw invalid("a transaction has one step at least");
    const r = new Request(verbs.transaction, "ID", this.id).addAll(this.#conditions);
    for (const step of this.#steps) r.add("STEP", String(step.args.length)).addAll(step.args);
    const decoders = [...this.#decoders];
    const f = new Fields(await this.#client.send(r, options));
    const steps = f.get("steps");
    if (!Array.isArray(steps) || steps.length !== decoders.length) throw malformed("another number of steps");
    return {
      revision: f.number("revision"),
      duplicate: f.number("duplicate") !== 0,
      steps: decoders.map((decode, i) => decode(steps[i]!)) as Steps,
    };
  }

  #if(key: Key, ...words: string[]): this {
    this.#conditions.push("IF", requests.encodeKey(key), ...words);
    return this;
  }

  #step<R>(step: Request, decode: (reply: Reply) => R): Transaction<[...Steps, R]> {
    this.#steps.push(step);
    this.#decoders.push(decode);
    return this as unknown as Transaction<[...Steps, R]>;
  }
}

/** A step's messages need no ids: the transaction has one. */
const noId = (): string => "";

const any = (reply: Reply): boolean => results.changed(reply) > 0;

/**
 * A session for the OpenAI Agents SDK on turnlog.
 *
 * @packageDocumentation
 */
import { createHash, randomUUID } from "node:crypto";
import {
  applySessionHistoryMutations,
  type AgentInputItem,
  type SessionHistoryRewriteArgs,
  type SessionHistoryRewriteAwareSession,
  type SessionHistoryTransaction,
  type SessionHistoryTransactionArgs,
  type SessionHistoryTransactionAwareSession,
} from "@openai/agents-core";
import type { Client } from "./client.js";
import { TurnlogError, invalid } from "./errors.js";
import { Known, backwards, parse, snapshot, whileConflict } from "./internal/history.js";
import { canonicalJSON, type JSONValue } from "./internal/json.js";
import { protocolItem } from "./internal/responses.js";
import type { Message, NewMessage } from "./message.js";
import type { Session as TurnlogLog } from "./session.js";

/** What a TurnlogSession is made from. */
export interface TurnlogSessionOptions {
  client: Client;
  /** The conversation; it is the key of the turnlog session, after `prefix`. Default: a random one. */
  sessionId?: string | undefined;
  prefix?: string | undefined;
  /** Milliseconds after the last items after which the conversation is deleted; default: never. */
  ttl?: number | undefined;
}

/** Where the first message of a transaction keeps what was asked for; a message may consist of it alone. */
const mark = "$turnlog";
const popped = { [mark]: { popped: true } };
type Stored = Record<string, unknown> & { [mark]?: { transaction: string } };

interface Item {
  seq: number;
  item: AgentInputItem;
}

/**
 * A conversation as a session of turnlog, one message an item. The items of one `addItems` are stored
 * whole and once, or not at all. Transactions are recognised by the ids of their messages, which turnlog
 * keeps for the last 1,024 messages appended to a session. Items that an agent in Python has stored come in
 * the form of this SDK.
 */
export class TurnlogSession
  implements SessionHistoryTransactionAwareSession, SessionHistoryRewriteAwareSession
{
  readonly #id: string;
  readonly #log: TurnlogLog;
  readonly #ttl: number | undefined;
  readonly #known = new Known();

  constructor(options: TurnlogSessionOptions) {
    this.#id = options.sessionId ?? randomUUID();
    this.#log = options.client.session((options.prefix ?? "") + this.#id);
    this.#ttl = options.ttl;
  }

  async getSessionId(): Promise<string> {
    return this.#id;
  }

  async getItems(limit?: number): Promise<AgentInputItem[]> {
    if (limit !== undefined && limit <= 0) return [];
    return (await this.#items(limit)).map((i) => i.item);
  }

  /** Returns the newest items with their seqs; messages that are only a mark are passed over. */
  async #items(limit?: number): Promise<Item[]> {
    if (limit === undefined) {
      const history = await snapshot(this.#log);
      this.#known.read(history);
      return this.#decode(history.messages);
    }
    const { messages } = await backwards(this.#log, limit, (read) => this.#decode(read).length < limit);
    return this.#decode(messages).slice(-limit);
  }

  #decode(messages: Message[]): Item[] {
    return messages.flatMap((m) => {
      const { [mark]: _, ...item } = parse<Stored>(this.#log, m);
      return Object.keys(item).length === 0 ? [] : [{ seq: m.seq, item: protocolItem(revive(item) as Stored) }];
    });
  }

  async addItems(items: AgentInputItem[]): Promise<void> {
    if (items.length === 0) return;
    const turn = items.map((item) => ({ data: encode(item) }));
    this.#known.appended(await this.#log.append(turn, { ttl: this.#ttl }));
  }

  /**
   * Removes and returns the newest item. It takes place once, and no other worker gets the same item: the
   * item is replaced by a mark, under an id by which the replacement is recognised when it is sent again, and
   * only if the session is as it was read. Readers pass over marks, and the next pop removes them.
   */
  async popItem(): Promise<AgentInputItem | undefined> {
    const newest = await whileConflict(async () => {
      const { revision } = await this.#log.last(1);
      const [newest] = await this.#items(1);
      if (newest) await this.#log.replace(newest.seq, { data: popped }, { expect: revision });
      return newest;
    });
    if (newest) this.#known.forget();
    return newest?.item;
  }

  async clearSession(): Promise<void> {
    await this.#log.clear();
    this.#known.forget();
  }

  /**
   * Replaces the whole history. It is rejected with `CONFLICT` if another writer has changed the history since
   * this session read it whole, so that compaction removes nothing that it did not see.
   */
  async replaceHistoryWithCompaction(items: AgentInputItem[]): Promise<void> {
    const turn = items.map((item) => ({ data: encode(item) }));
    const expect = this.#known.revision;
    try {
      await this.#log.replace(1, turn, { expect });
    } catch (err) {
      if (!TurnlogError.is(err, "NOT_FOUND") || expect) throw err; // it was seen, and is gone
      if (turn.length > 0) await this.#log.append(turn, { expect: 0, ttl: this.#ttl });
    }
    this.#known.forget();
  }

  /** Rewrites stored items. Others' appends meanwhile are kept. */
  async applyHistoryMutations(args: SessionHistoryRewriteArgs): Promise<void> {
    if (args.mutations.length === 0) return;
    await whileConflict(async () => {
      const history = await snapshot(this.#log);
      const before = this.#decode(history.messages);
      const after = applySessionHistoryMutations(
        before.map((i) => i.item),
        args.mutations,
      ).map(encode);
      const changed = before.findIndex((i, at) => encode(i.item) !== after[at]);
      if (changed < 0) return;
      const rest = after.slice(changed).map((data) => ({ data }));
      await this.#log.replace(before[changed]!.seq, rest, { expect: history.revision });
    });
    this.#known.forget();
  }

  /**
   * Makes an atomic change once. Repeated under its `operationId` it succeeds and changes nothing; another
   * transaction under the same `operationId`, or a suffix that does not match, is rejected and changes nothing.
   */
  async applyHistoryTransaction(args: SessionHistoryTransactionArgs): Promise<void> {
    const { operationId, transaction } = args;
    if (typeof operationId !== "string" || operationId.trim() === "") {
      throw invalid("the operationId of a transaction must be a string that is not empty");
    }
    const turn = transactionTurn(operationId, transaction);
    if (transaction.type === "append_items" || transaction.expectedSuffix.length === 0) {
      this.#known.appended(await this.#log.append(turn, { ttl: this.#ttl }));
      return;
    }
    const suffix = transaction.expectedSuffix.map(encode);
    await whileConflict(() => this.#replaceSuffix(suffix, turn));
    this.#known.forget();
  }

  async #replaceSuffix(suffix: string[], turn: NewMessage[]): Promise<void> {
    const { revision } = await this.#log.last(1);
    const items = await this.#items(suffix.length);
    const matches = items.length === suffix.length && items.every((i, at) => encode(i.item) === suffix[at]);
    if (matches) {
      await this.#log.replace(items[0]!.seq, turn, { expect: revision });
      return;
    }
    // Only a repetition is answered with success: no session has this revision.
    await this.#log.append(turn, { expect: Number.MAX_SAFE_INTEGER }).catch((err) => {
      if (!TurnlogError.is(err, "CONFLICT")) throw err;
      throw new TurnlogError("CONFLICT", "the session's history does not end with the expected suffix", {
        cause: err,
      });
    });
  }
}

/** The messages of a transaction: at least one, with ids made from the operation's. */
function transactionTurn(operationId: string, transaction: SessionHistoryTransaction): NewMessage[] {
  const append = transaction.type === "append_items";
  if (!append && transaction.type !== "replace_suffix") throw invalid("unsupported type of transaction");
  const items: unknown[] = append ? transaction.items : transaction.replacement;
  const digest = sha256(canonicalJSON(tagged(transaction)));
  const operation = sha256(operationId);
  const [first = {}, ...rest] = items.map((item) => tagged(item) as Record<string, JSONValue>);
  return [{ ...first, [mark]: { transaction: digest } }, ...rest].map((item, i) => ({
    id: `${operation}:${i}`,
    data: canonicalJSON(item),
  }));
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

/** An item's JSON: names in order, so that equal items have equal text, and bytes as base64. */
function encode(item: AgentInputItem): string {
  return canonicalJSON(tagged(item));
}

const bytes = "$bytes";

function tagged(value: unknown): JSONValue {
  if (value instanceof Uint8Array) return { [bytes]: Buffer.from(value).toString("base64") };
  if (Array.isArray(value)) return value.map(tagged);
  if (typeof value !== "object" || value === null) return value as JSONValue;
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, tagged(v)]));
}

function revive(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(revive);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  if (entries.length === 1 && entries[0]![0] === bytes)
    return new Uint8Array(Buffer.from(String(entries[0]![1]), "base64"));
  return Object.fromEntries(entries.map(([k, v]) => [k, revive(v)]));
}

import {
  WRITES_IDX_MAP,
  compareWritesSortKeys,
  writesSortKey,
  type Checkpoint,
  type CheckpointMetadata,
  type CheckpointPendingWrite,
  type PendingWrite,
  type SerializerProtocol,
  type WritesSortKey,
} from "@langchain/langgraph-checkpoint";
import { TurnlogError } from "../errors.js";
import { frame } from "./frame.js";
import type { Thread } from "./thread.js";

/** The checkpoint that stored the value of each channel. @internal */
export type Holders = Record<string, string>;

/** A checkpoint without the values of its channels. @internal */
export interface Stored {
  checkpoint: Checkpoint;
  metadata: CheckpointMetadata;
  parent: string | undefined;
  holders: Holders;
}

interface WritesHeader {
  task: string;
  path: string;
  /** Index, channel and type of each write. */
  writes: [number, string, string][];
}

interface Write {
  key: WritesSortKey;
  task: string;
  channel: string;
  type: string;
  bytes: Uint8Array;
}

const pageOfList = 32;
const messageBytes = 4 << 20;
const checkpointField = (id: string): string => `checkpoint:${id}`;
const valueField = (id: string, channel: string): string => `value:${id}:${channel}`;

/** Divides writes that are together larger than a message. */
function divided<T extends { bytes: Uint8Array }>(writes: readonly T[]): T[][] {
  const parts: T[][] = [[]];
  let size = 0;
  for (const write of writes) {
    size += write.bytes.length;
    if (parts.at(-1)!.length > 0 && size > messageBytes) {
      parts.push([]);
      size = write.bytes.length;
    }
    parts.at(-1)!.push(write);
  }
  return parts;
}

/** Returns the error of a put; of one that was too large, the error says what has the largest value. @internal */
export function tooLarge(
  err: unknown,
  thread: string,
  values: readonly (readonly [string, Uint8Array])[],
): unknown {
  const [largest] = [...values].sort(([, a], [, b]) => b.length - a.length);
  if (!TurnlogError.is(err, "TOO_LARGE") || !largest) return err;
  const [channel, { length }] = largest;
  const message = `nothing was put on thread ${JSON.stringify(thread)}: the largest value, of ${JSON.stringify(channel)}, has ${length} bytes`;
  return new TurnlogError("TOO_LARGE", message, { cause: err });
}

/** What a thread's namespace holds, encoded and decoded. @internal */
export class Checkpoints {
  constructor(
    readonly thread: Thread,
    readonly serde: SerializerProtocol,
  ) {}

  /** Encodes a checkpoint and the values that changed with it; these are then held by it. */
  async encode(stored: Stored, changed: Record<string, unknown>): Promise<[string, Buffer][]> {
    const { channel_values: _, ...rest } = stored.checkpoint;
    const fields: [string, Buffer][] = [];
    for (const [channel, value] of Object.entries(changed)) {
      const [type, bytes] = await this.serde.dumpsTyped(value);
      fields.push([valueField(rest.id, channel), frame({ type }, [bytes])]);
      stored.holders[channel] = rest.id;
    }
    const [c, m] = await Promise.all([this.serde.dumpsTyped(rest), this.serde.dumpsTyped(stored.metadata)]);
    const header = { parent: stored.parent, holders: stored.holders, types: [c[0], m[0]] };
    fields.push([checkpointField(rest.id), frame(header, [c[1], m[1]])]);
    return fields;
  }

  async get(id: string): Promise<Stored | undefined> {
    const [data] = await this.thread.get([checkpointField(id)]);
    return data ? this.#decode(data) : undefined;
  }

  async *newestFirst(): AsyncGenerator<Stored, void, undefined> {
    let page = await this.thread.log.last(pageOfList);
    for (;;) {
      const ids = page.messages.map((m) => m.text).reverse();
      for (const data of await this.thread.get(ids.map(checkpointField))) {
        if (data) yield await this.#decode(data);
      }
      if (!page.more) return;
      page = await this.thread.log.read({ before: page.messages[0]!.seq, limit: pageOfList });
    }
  }

  async #decode(data: Buffer): Promise<Stored> {
    type Header = { parent?: string; holders: Holders; types: [string, string] };
    const { header, parts } = this.thread.unframe<Header>(data);
    const [rest, metadata] = await Promise.all(
      header.types.map((type, i) => this.serde.loadsTyped(type, parts[i]!) as Promise<unknown>),
    );
    return {
      checkpoint: { ...(rest as Omit<Checkpoint, "channel_values">), channel_values: {} },
      metadata: metadata as CheckpointMetadata,
      parent: header.parent,
      holders: header.holders,
    };
  }

  /** Reads the values of those channels that have one. */
  async values(stored: Stored, channels: readonly string[]): Promise<Record<string, unknown>> {
    const held = channels.filter((channel) => Object.hasOwn(stored.holders, channel));
    const data = await this.thread.get(held.map((channel) => valueField(stored.holders[channel]!, channel)));
    const values = await Promise.all(data.map((value) => this.#value(value)));
    return Object.fromEntries(held.map((channel, i) => [channel, values[i]]));
  }

  async #value(data: Buffer | null): Promise<unknown> {
    const { id } = this.thread;
    if (!data)
      throw new TurnlogError("NOT_FOUND", `thread ${JSON.stringify(id)} was deleted while it was read`);
    const { header, parts } = this.thread.unframe<{ type: string }>(data);
    return this.serde.loadsTyped(header.type, parts[0]!);
  }

  /** Adds what a task wrote, whole and once. */
  async addWrites(id: string, writes: readonly PendingWrite[], task: string, path: string): Promise<void> {
    const dumped = await Promise.all(
      writes.map(async ([channel, value], i) => {
        const [type, bytes] = await this.serde.dumpsTyped(value);
        return { described: [WRITES_IDX_MAP[channel] ?? i, channel, type] as const, bytes };
      }),
    );
    const messages = divided(dumped).map((part) => {
      const header = { task, path, writes: part.map((w) => w.described) };
      return {
        data: frame(
          header,
          part.map((w) => w.bytes),
        ),
      };
    });
    await this.thread
      .writes(id)
      .append(messages)
      .catch((err) => {
        throw tooLarge(
          err,
          this.thread.id,
          dumped.map((w) => [w.described[1], w.bytes]),
        );
      });
  }

  /**
   * Returns the writes of a checkpoint in the order in which a run applies them. Of two writes of one task
   * under one index the first is kept; of errors, interrupts and the like, whose index is negative, the last.
   */
  async writes(id: string): Promise<CheckpointPendingWrite[]> {
    const found = new Map<string, Write>();
    for await (const message of this.thread.writes(id).all()) {
      const { header, parts } = this.thread.unframe<WritesHeader>(message.data);
      const { task, path } = header;
      header.writes.forEach(([idx, channel, type], i) => {
        const name = `${idx} ${task}`;
        if (idx >= 0 && found.has(name)) return;
        found.set(name, { key: writesSortKey(path, task, idx), task, channel, type, bytes: parts[i]! });
      });
    }
    const sorted = [...found.values()].sort((a, b) => compareWritesSortKeys(a.key, b.key));
    return Promise.all(
      sorted.map(async (w) => [w.task, w.channel, (await this.serde.loadsTyped(w.type, w.bytes)) as unknown]),
    );
  }
}

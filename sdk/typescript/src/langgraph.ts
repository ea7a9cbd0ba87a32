/**
 * A checkpointer for LangGraph.js on turnlog.
 *
 * @packageDocumentation
 */
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver,
  TASKS,
  copyCheckpoint,
  getCheckpointId,
  maxChannelVersion,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  type DeltaChannelHistory,
  type PendingWrite,
  type SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import type { Client } from "./client.js";
import { TurnlogError, invalid } from "./errors.js";
import { Checkpoints, tooLarge, type Holders, type Stored } from "./internal/checkpoints.js";
import { canonicalJSON, type JSONValue } from "./internal/json.js";
import { Recent } from "./internal/recent.js";
import { Thread } from "./internal/thread.js";

export { copyThreads } from "./internal/copythreads.js";

/** What a TurnlogSaver is made from. */
export interface TurnlogSaverInput {
  client: Client;
  /** What all keys begin with; default: `langgraph:`. */
  prefix?: string | undefined;
  serde?: SerializerProtocol | undefined;
}

/**
 * The entry of a config that says at which revision its checkpoint was read, if that was not the newest.
 * LangGraph passes it on to the puts of the run, which fork the thread on purpose.
 */
const readAtEntry = "__turnlog_read_at";

/** What a put needs to know of its parent. */
interface Parent {
  /** The thread's revision when it was put, or read as the newest. */
  revision: number | undefined;
  holders: Holders;
  versions: ChannelVersions;
}

/**
 * Keeps the checkpoints of graphs. A put is one transaction, and it is a `CONFLICT` if another writer has
 * put a checkpoint since the one that it follows was read or put: two processes on one thread cannot fork
 * it unnoticed. To fork on purpose, run the graph with the `checkpoint_id` of an older checkpoint. The
 * newest checkpoint of a thread is the one put last.
 *
 * A channel's value is stored once, with the checkpoint that changed it, so a step costs what it changes.
 */
export class TurnlogSaver extends BaseCheckpointSaver {
  readonly #client: Client;
  readonly #prefix: string;
  readonly #parents = new Recent<Parent>(10_000);
  /** At which revision the checkpoints were read whose parents these are. */
  readonly #readWith = new WeakMap<RunnableConfig, number>();

  constructor(input: TurnlogSaverInput) {
    super(input.serde);
    this.#client = input.client;
    this.#prefix = input.prefix ?? "langgraph:";
  }

  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    if (config.configurable?.thread_id === undefined) return undefined;
    const at = this.#at(config);
    const head = await at.thread.head();
    const id = getCheckpointId(config) || head.id;
    if (id === undefined) {
      this.#parents.set(place(at.thread, id), { revision: head.revision, holders: {}, versions: {} });
      return undefined;
    }
    const stored = await at.get(id);
    if (!stored) return undefined;
    const newest = head.id === id;
    this.#remember(at.thread, newest ? head.revision : undefined, stored);
    return this.#tuple(at, stored, head.revision, newest);
  }

  override async *list(
    config: RunnableConfig,
    options: CheckpointListOptions = {},
  ): AsyncGenerator<CheckpointTuple> {
    const { thread_id, checkpoint_ns, checkpoint_id } = config.configurable ?? {};
    const before = options.before?.configurable?.checkpoint_id as string | undefined;
    let left = options.limit ?? Infinity;
    if (left <= 0) return;
    for await (const thread of Thread.all(this.#client, this.#prefix, thread_id as string | undefined)) {
      if (checkpoint_ns !== undefined && thread.ns !== checkpoint_ns) continue;
      const at = new Checkpoints(thread, this.serde);
      for await (const stored of selected(at, checkpoint_id as string | undefined)) {
        if (before && stored.checkpoint.id >= before) continue;
        if (!matches(stored.metadata, options.filter)) continue;
        yield await this.#tuple(at, stored);
        if (--left === 0) return;
      }
    }
  }

  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const at = this.#at(config);
    const parentId = (config.configurable?.checkpoint_id as string | undefined) || undefined;
    const fork = metadata.source === "fork";
    const { parent, expect } = await this.#parent(at, config, parentId, fork);
    const copy = copyCheckpoint(checkpoint);
    const holders: Holders = {};
    for (const [channel, holder] of Object.entries(parent?.holders ?? {})) {
      const same = parent!.versions[channel] === copy.channel_versions[channel];
      if (same && !Object.hasOwn(newVersions, channel)) holders[channel] = holder;
    }
    // LangGraph names no new versions for a copy.
    const channels = Object.keys(fork ? copy.channel_values : newVersions);
    const changed = channels
      .map((channel) => [channel, copy.channel_values[channel]] as const)
      .filter(([channel, value]) => value !== undefined && !Object.hasOwn(holders, channel));
    const stored = { checkpoint: copy, metadata, parent: parentId, holders };
    const fields = await at.encode(stored, Object.fromEntries(changed));
    const revision = await this.#put(at.thread, copy.id, fields, expect).catch((err) => {
      throw tooLarge(
        err,
        at.thread.id,
        fields.slice(0, -1).map(([, data], i) => [changed[i]![0], data]),
      );
    });
    this.#remember(at.thread, revision, stored);
    return configOf(at.thread, copy.id);
  }

  /** Puts a checkpoint. It may be there already: put by a call whose outcome could not be learned. */
  async #put(thread: Thread, id: string, fields: [string, Buffer][], expect?: number): Promise<number> {
    try {
      return await thread.put(id, fields, expect);
    } catch (err) {
      if (!TurnlogError.is(err, "CONFLICT")) throw err;
      const head = await thread.head();
      if (head.id === id) return head.revision;
      throw conflict(
        thread,
        `another writer has changed it, its newest checkpoint is ${head.id ?? "none"}`,
        err,
      );
    }
  }

  override async putWrites(
    config: RunnableConfig,
    writes: PendingWrite[],
    taskId: string,
    taskPath = "",
  ): Promise<void> {
    const at = this.#at(config);
    const id = getCheckpointId(config);
    if (!id) throw invalid("writes belong to a checkpoint, but the config has no checkpoint_id");
    if (writes.length > 0) await at.addWrites(id, writes, taskId, taskPath);
  }

  override async deleteThread(threadId: string): Promise<void> {
    await Thread.delete(this.#client, this.#prefix, threadId);
  }

  /**
   * Walks the ancestors of a checkpoint and reads the channels asked for, no others. Unlike `getTuple` it
   * leaves alone what later puts depend on: no run goes on from what is read here.
   */
  override async getDeltaChannelHistory(options: {
    config: RunnableConfig;
    channels: string[];
  }): Promise<Record<string, DeltaChannelHistory>> {
    const at = this.#at(options.config);
    const remaining = new Set(options.channels);
    const out = Object.fromEntries(options.channels.map((c) => [c, { writes: [] } as DeltaChannelHistory]));
    const id = getCheckpointId(options.config) || (await at.thread.head()).id;
    let next = id === undefined ? undefined : (await at.get(id))?.parent;
    while (next !== undefined && remaining.size > 0) {
      const stored = await at.get(next);
      if (!stored) break;
      const [writes, values] = await Promise.all([at.writes(next), at.values(stored, [...remaining])]);
      for (const write of writes.reverse()) if (remaining.has(write[1])) out[write[1]]!.writes.push(write);
      for (const [channel, seed] of Object.entries(values)) {
        out[channel]!.seed = seed;
        remaining.delete(channel);
      }
      next = stored.parent;
    }
    for (const history of Object.values(out)) history.writes.reverse();
    return out;
  }

  #at(config: RunnableConfig): Checkpoints {
    const { thread_id, checkpoint_ns } = config.configurable ?? {};
    if (typeof thread_id !== "string" || thread_id === "") {
      throw invalid('a checkpointer needs a thread: { configurable: { thread_id: "…" } }');
    }
    const ns = (checkpoint_ns as string | undefined) ?? "";
    return new Checkpoints(new Thread(this.#client, this.#prefix, thread_id, ns), this.serde);
  }

  /**
   * Returns what a put needs to know of the checkpoint that it follows, and the revision to expect. The run
   * has read that checkpoint, or this process has put it; else it must be the newest.
   */
  async #parent(
    at: Checkpoints,
    config: RunnableConfig,
    id: string | undefined,
    fork: boolean,
  ): Promise<{ parent?: Parent | undefined; expect?: number | undefined }> {
    const known = this.#parents.get(place(at.thread, id));
    if (id === undefined)
      return { parent: known, expect: fork ? readAt(config, at.thread, true) : known?.revision };
    let expect = readAt(config, at.thread) ?? (fork ? this.#readWith.get(config) : known?.revision);
    if (known && expect !== undefined) return { parent: known, expect };
    const head = await at.thread.head();
    // A fork on purpose need not follow the newest; a copy is put after the parent of its original, which was
    // read with it, unless a user made the config.
    if (fork) expect ??= head.revision;
    if (expect === undefined && head.id !== id) {
      throw conflict(at.thread, `its newest checkpoint is ${head.id ?? "none"}, not ${id}`);
    }
    const stored = await at.get(id);
    if (!stored) throw conflict(at.thread, `the checkpoint ${id} was removed`);
    return { parent: this.#remember(at.thread, undefined, stored), expect: expect ?? head.revision };
  }

  #remember(thread: Thread, revision: number | undefined, { checkpoint, holders }: Stored): Parent {
    const name = place(thread, checkpoint.id);
    const parent = {
      revision: revision ?? this.#parents.get(name)?.revision,
      holders,
      versions: { ...checkpoint.channel_versions }, // a run changes those that it was given
    };
    this.#parents.set(name, parent);
    return parent;
  }

  async #tuple(at: Checkpoints, stored: Stored, revision?: number, newest = false): Promise<CheckpointTuple> {
    const { metadata, parent } = stored;
    const { id } = stored.checkpoint;
    const [channel_values, pendingWrites] = await Promise.all([
      at.values(stored, Object.keys(stored.holders)),
      at.writes(id),
    ]);
    const checkpoint: Checkpoint = { ...stored.checkpoint, channel_values };
    if (checkpoint.v < 4 && parent !== undefined) await this.#migrateSends(at, checkpoint, parent);
    const config = configOf(at.thread, id, newest ? undefined : revision);
    const tuple: CheckpointTuple = { config, checkpoint, metadata, pendingWrites };
    if (parent !== undefined) {
      tuple.parentConfig = configOf(at.thread, parent);
      // LangGraph puts a copy of a checkpoint after its parent, with this very config.
      if (revision !== undefined) this.#readWith.set(tuple.parentConfig, revision);
    }
    return tuple;
  }

  /** Gives a checkpoint of an older format the sends that are kept as writes of its parent. */
  async #migrateSends(at: Checkpoints, checkpoint: Checkpoint, parent: string): Promise<void> {
    const sends = (await at.writes(parent)).filter(([, channel]) => channel === TASKS);
    const versions = Object.values(checkpoint.channel_versions);
    const version = versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined);
    checkpoint.channel_values[TASKS] = sends.map(([, , value]) => value);
    checkpoint.channel_versions = { ...checkpoint.channel_versions, [TASKS]: version };
  }
}

async function* selected(at: Checkpoints, only: string | undefined): AsyncGenerator<Stored, void, undefined> {
  if (only === undefined) return yield* at.newestFirst();
  const stored = await at.get(only);
  if (stored) yield stored;
}

function place(thread: Thread, id: string | undefined): string {
  return JSON.stringify([thread.id, thread.ns, id ?? null]);
}

function configOf(thread: Thread, id: string, revision?: number): RunnableConfig {
  const entries = { thread_id: thread.id, checkpoint_ns: thread.ns, checkpoint_id: id };
  const read = revision === undefined ? {} : { [readAtEntry]: `${revision} ${place(thread, id)}` };
  return { configurable: { ...entries, ...read } };
}

/**
 * Returns the revision at which the checkpoint of a config was read, if it says so of this one; or of any of its
 * namespace.
 */
function readAt({ configurable }: RunnableConfig, thread: Thread, ofAny = false): number | undefined {
  const [, revision, where] = /^(\d+) (.*)$/s.exec(String(configurable?.[readAtEntry])) ?? [];
  const id = (configurable?.checkpoint_id as string | undefined) || undefined;
  const anywhere = place(thread, undefined).slice(0, -"null]".length);
  const same = ofAny ? where?.startsWith(anywhere) : where === place(thread, id);
  return same ? Number(revision) : undefined;
}

function conflict(thread: Thread, why: string, cause?: unknown): TurnlogError {
  const message = `nothing was put on thread ${JSON.stringify(thread.id)}: ${why}; read it again, then decide`;
  return new TurnlogError("CONFLICT", message, cause === undefined ? {} : { cause });
}

function matches(metadata: CheckpointMetadata, filter: Record<string, unknown> | undefined): boolean {
  const has = metadata as unknown as Record<string, JSONValue>;
  return Object.entries(filter ?? {}).every(
    ([name, value]) => canonicalJSON(has[name]) === canonicalJSON(value as JSONValue),
  );
}

import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, CheckpointTuple, PendingWrite } from "@langchain/langgraph-checkpoint";

/**
 * Copies all threads of a checkpointer that is not in use to a `TurnlogSaver`, the oldest checkpoint of each
 * first, with forks and pending writes. A value that many checkpoints share is stored once.
 *
 * @returns how many checkpoints there were.
 * @throws what the source or the target throws. After a copy that failed, delete its threads and begin
 * again: a checkpoint that is there already is a CONFLICT.
 */
export async function copyThreads(source: BaseCheckpointSaver, target: BaseCheckpointSaver): Promise<number> {
  let copied = 0;
  for (const [where, configs] of await places(source)) {
    for (const config of configs.reverse()) {
      const found = await source.getTuple(config);
      if (!found) continue;
      await copy(found, where, target);
      copied++;
    }
  }
  return copied;
}

/** Returns the namespaces of all threads, each with the configs of its checkpoints, the newest first. */
async function places(source: BaseCheckpointSaver): Promise<[RunnableConfig, RunnableConfig[]][]> {
  const all = new Map<string, [RunnableConfig, RunnableConfig[]]>();
  for await (const { config } of source.list({ configurable: {} })) {
    const thread_id = String(config.configurable?.thread_id);
    const checkpoint_ns = (config.configurable?.checkpoint_ns as string | undefined) ?? "";
    const name = JSON.stringify([thread_id, checkpoint_ns]);
    const place = all.get(name) ?? [{ configurable: { thread_id, checkpoint_ns } }, []];
    place[1].push(config);
    all.set(name, place);
  }
  return [...all.values()];
}

async function copy(found: CheckpointTuple, where: RunnableConfig, target: BaseCheckpointSaver): Promise<void> {
  const { checkpoint, metadata, parentConfig } = found;
  const parent = parentConfig && (await target.getTuple(parentConfig));
  const before = parent?.checkpoint.channel_versions ?? {};
  const changed = Object.entries(checkpoint.channel_versions).filter(([name, v]) => before[name] !== v);
  const at = await target.put(
    parent?.config ?? where,
    checkpoint,
    metadata ?? { source: "input", step: -1, parents: {} },
    Object.fromEntries(changed),
  );
  const tasks = new Map<string, PendingWrite[]>();
  for (const [task, channel, value] of found.pendingWrites ?? []) {
    tasks.set(task, [...(tasks.get(task) ?? []), [channel, value]]);
  }
  for (const [task, writes] of tasks) await target.putWrites(at, writes, task);
}

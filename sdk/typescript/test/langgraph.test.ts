import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  Annotation,
  Command,
  DeltaValue,
  END,
  START,
  StateGraph,
  StateSchema,
  interrupt,
} from "@langchain/langgraph";
import {
  MemorySaver,
  emptyCheckpoint,
  uuid6,
  type BaseCheckpointSaver,
  type Checkpoint,
} from "@langchain/langgraph-checkpoint";
import { TurnlogError, type Client } from "turnlog";
import { TurnlogSaver, copyThreads } from "turnlog/langgraph";
import { z } from "zod";
import { Cluster } from "./cluster.js";

const root = resolve(import.meta.dirname, "../..");
let cluster: Cluster;
let client: Client;
before(async () => {
  cluster = await Cluster.start(3);
  client = cluster.client();
});
after(() => cluster.stop());

const isConflict = (err: unknown): boolean => TurnlogError.is(err, "CONFLICT");
const meta = { source: "loop" as const, step: 0, parents: {} };

test("the published validation suite and that of delta channels pass whole", async () => {
  const vitest = resolve(root, "node_modules/.bin/vitest");
  const { stdout } = await promisify(execFile)(
    vitest,
    ["run", "--globals", "--reporter=json", "build/test/langgraph.spec.mjs"],
    { cwd: root, env: { ...process.env, TURNLOG_ADDRS: cluster.addrs.join(",") }, maxBuffer: 64 << 20 },
  ).catch((err: { stdout: string; stderr: string }) => assert.fail(err.stdout + err.stderr));
  const result = JSON.parse(stdout.slice(stdout.indexOf("{"))) as Record<string, number>;
  assert.equal(result["numFailedTests"], 0);
  assert.equal(result["numPassedTests"], result["numTotalTests"]);
  const table = readFileSync(resolve(root, "../../docs/compat.md"), "utf8");
  const row = /checkpoint-validation [\d.]+, with .* \| (\d+) \| 0 \| 0 \|/.exec(table);
  assert.equal(result["numTotalTests"], Number(row?.[1]), "the table in docs/compat.md is stale");
});

const State = Annotation.Root({
  said: Annotation<string[]>({ reducer: (a, b) => a.concat(b), default: () => [] }),
});

/** A graph of two nodes; the second one asks a person first. */
function agent(saver: BaseCheckpointSaver) {
  return new StateGraph(State)
    .addNode("think", (s) => ({ said: [`thought ${s.said.length}`] }))
    .addNode("ask", () => ({ said: [String(interrupt("go on?"))] }))
    .addEdge(START, "think")
    .addEdge("think", "ask")
    .addEdge("ask", END)
    .compile({ checkpointer: saver });
}

test("a graph is interrupted in one process and resumed in another, after the leader was killed", async () => {
  const config = { configurable: { thread_id: "person/1" } };
  await agent(new TurnlogSaver({ client })).invoke({ said: ["hello"] }, config);
  const leader = await cluster.leader(client);
  await cluster.kill(leader);
  const resumed = agent(new TurnlogSaver({ client: cluster.client() }));
  const state = await resumed.invoke(new Command({ resume: "yes" }), config);
  cluster.startNode(leader);
  assert.deepEqual(state.said, ["hello", "thought 1", "yes"]);

  const history = [];
  for await (const s of resumed.getStateHistory(config)) history.push(s);
  assert.deepEqual(
    history.map((s) => s.next),
    [[], ["ask"], ["think"], ["__start__"]],
  );
  await resumed.updateState(history[1]!.config, { said: ["edited"] }); // a fork, on purpose
  assert.deepEqual((await resumed.getState(config)).values.said, ["hello", "thought 1", "edited"]);
  assert.deepEqual((await resumed.getState(history[0]!.config)).values.said, ["hello", "thought 1", "yes"]);
});

function checkpoint(said: unknown, version: number): Checkpoint {
  return {
    ...emptyCheckpoint(),
    id: uuid6(version),
    channel_values: { said },
    channel_versions: { said: version },
  };
}

test("two processes on one thread cannot fork it unnoticed", async () => {
  const config: RunnableConfig = { configurable: { thread_id: "fork", checkpoint_ns: "" } };
  const [a, b] = [new TurnlogSaver({ client }), new TurnlogSaver({ client: cluster.client() })];
  assert.equal(await a.getTuple(config), undefined);
  assert.equal(await b.getTuple(config), undefined);
  const first = await a.put(config, checkpoint("a", 1), meta, { said: 1 });
  await assert.rejects(b.put(config, checkpoint("b", 1), meta, { said: 1 }), isConflict);
  assert.ok(await b.getTuple(config));
  const second = await a.put(first, checkpoint("aa", 2), meta, { said: 2 });
  await assert.rejects(b.put(first, checkpoint("ab", 2), meta, { said: 2 }), isConflict);
  // Nor is what another task of this process reads.
  await b.getTuple(first);
  await assert.rejects(b.put(first, checkpoint("af", 2), meta, { said: 2 }), isConflict);
  const stranger = new TurnlogSaver({ client });
  await assert.rejects(stranger.put(first, checkpoint("ac", 2), meta, { said: 2 }), isConflict);
  // A walk through the history is no reading of what a run goes on from.
  await b.getDeltaChannelHistory({ config: second, channels: ["said"] });
  await assert.rejects(b.put(first, checkpoint("ad", 2), meta, { said: 2 }), isConflict);
  assert.equal((await stranger.getTuple(config))!.checkpoint.channel_values["said"], "aa");
  // Versions of the channel are numbered alike on both branches, and their values are told apart.
  const forkedAt = (await b.getTuple(first))!.config;
  await b.put(forkedAt, checkpoint("ae", 2), meta, { said: 2 });
  assert.equal((await b.getTuple(second))!.checkpoint.channel_values["said"], "aa");
  assert.equal((await b.getTuple(config))!.checkpoint.channel_values["said"], "ae");
});

test("a copy is not put behind what another writer has put since it was read", async () => {
  const config: RunnableConfig = { configurable: { thread_id: "copy-fork", checkpoint_ns: "" } };
  const [a, b] = [new TurnlogSaver({ client }), new TurnlogSaver({ client: cluster.client() })];
  const copied = { ...meta, source: "fork" as const };
  const first = await a.put(config, checkpoint("a", 1), meta, { said: 1 });
  const second = await a.put(first, checkpoint("aa", 2), meta, { said: 2 });
  const [begun, read] = [(await b.getTuple(first))!, (await b.getTuple(config))!];
  await a.put(second, checkpoint("aaa", 3), meta, { said: 3 });
  // As LangGraph puts the copy of a checkpoint without a parent, and of one with a parent.
  const { checkpoint_id: _, ...nowhere } = begun.config.configurable!;
  await assert.rejects(b.put({ configurable: nowhere }, checkpoint("b", 1), copied, {}), isConflict);
  await assert.rejects(b.put(read.parentConfig!, checkpoint("ab", 2), copied, {}), isConflict);
  assert.equal((await b.getTuple(config))!.checkpoint.channel_values["said"], "aaa");
  const again = (await b.getTuple(second))!;
  await b.put(again.parentConfig!, checkpoint("ac", 2), copied, {});
  assert.equal((await a.getTuple(config))!.checkpoint.channel_values["said"], "ac");
});

test("threads of another checkpointer are copied with forks, interrupts and writes", async () => {
  const where = (thread: string): RunnableConfig => ({ configurable: { thread_id: thread } });
  const old = new MemorySaver();
  const saver = new TurnlogSaver({ client, prefix: "copied-threads:" });
  const states = async (of: BaseCheckpointSaver, thread: string) => {
    const all = [];
    for await (const s of agent(of).getStateHistory(where(thread))) all.push(s);
    return all;
  };
  for (const thread of ["a", "b:c"]) await agent(old).invoke({ said: [`hello ${thread}`] }, where(thread));
  await agent(old).invoke(new Command({ resume: "yes" }), where("a"));
  const asked = (await states(old, "a")).find((s) => s.next[0] === "ask")!;
  await agent(old).updateState(asked.config, { said: ["edited"] });
  const count = await copyThreads(old, saver);
  let stored = 0;
  for (const thread of ["a", "b:c"]) {
    const [ours, theirs] = [await states(saver, thread), await states(old, thread)];
    stored += ours.length;
    const shown = (all: typeof ours) =>
      all.map((s) => [s.config, s.parentConfig, s.values, s.next, s.metadata, s.tasks]);
    assert.deepEqual(shown(ours), shown(theirs));
  }
  assert.equal(count, stored);
  const on = await agent(saver).invoke(new Command({ resume: "on" }), where("b:c"));
  assert.deepEqual(on.said.slice(1), ["thought 1", "on"]);
  await assert.rejects(copyThreads(old, saver), isConflict);
});

/** Copies each checkpoint of a finished run, as a user who goes back to it does. */
async function* copiesOf(saver: () => BaseCheckpointSaver): AsyncGenerator<unknown> {
  const config = { configurable: { thread_id: "copied" } };
  let app = agent(saver());
  await app.invoke({ said: ["hello"] }, config);
  await app.invoke(new Command({ resume: "yes" }), config);
  const history = [];
  for await (const state of app.getStateHistory(config)) history.push(state);
  for (const { config: before } of history) {
    app = agent(saver());
    const copied = await app.getState(await app.updateState(before, null, "__copy__"));
    yield [copied.values, copied.next, (await app.getState(config)).values];
  }
  await app.updateState(config, null, "__copy__"); // of the newest, in the process that has put it
  yield [(await app.getState(config)).values];
}

async function all<T>(found: AsyncGenerator<T>): Promise<T[]> {
  const out = [];
  for await (const one of found) out.push(one);
  return out;
}

test("a checkpoint is copied on purpose", async () => {
  const theirs = new MemorySaver();
  const ours = await all(copiesOf(() => new TurnlogSaver({ client, prefix: "copies:" })));
  assert.deepEqual(ours, await all(copiesOf(() => theirs)));
});

test("writes that are larger together than a message", async () => {
  const saver = new TurnlogSaver({ client });
  const config: RunnableConfig = { configurable: { thread_id: "large", checkpoint_ns: "" } };
  const put = await saver.put(config, checkpoint("x", 1), meta, { said: 1 });
  const writes = ["a", "b", "c"].map((c): [string, string] => [c, c.repeat(5 << 20)]);
  await saver.putWrites(put, writes, "task");
  assert.deepEqual(
    (await saver.getTuple(put))!.pendingWrites,
    writes.map((w) => ["task", ...w]),
  );
  await assert.rejects(saver.putWrites(put, [["large", "x".repeat(9 << 20)]], "task"), /of "large", has 94371/);
  const many = checkpoint("x".repeat(20 << 20), 2);
  await assert.rejects(saver.put(put, many, meta, { said: 2 }), /of "said", has 209715/);
});

test("a run that begins while its thread is deleted has whole checkpoints or a conflict", async () => {
  for (let request = 1; request <= 4; request++) {
    const prefix = `begun ${request}:`;
    const config: RunnableConfig = { configurable: { thread_id: "t", checkpoint_ns: "" } };
    const begin = async (): Promise<[TurnlogSaver, RunnableConfig]> => {
      const saver = new TurnlogSaver({ client, prefix });
      const found = await saver.getTuple(config);
      const put = await saver.put(found?.config ?? config, checkpoint("new", 7), meta, { said: 7 });
      await saver.putWrites(put, [["said", "w"]], "task");
      return [saver, put];
    };
    await begin();
    let begun: [TurnlogSaver, RunnableConfig] | undefined;
    const deleting = cluster.client() as Client & { retry: (...given: unknown[]) => Promise<unknown> };
    let left = request;
    const retry = deleting.retry.bind(deleting);
    deleting.retry = async (...given) => {
      if (--left === 0) begun = await begin();
      return retry(...given);
    };
    await new TurnlogSaver({ client: deleting, prefix }).deleteThread("t");
    const found = await new TurnlogSaver({ client, prefix }).getTuple(config);
    if (found) {
      assert.equal(found.checkpoint.channel_values["said"], "new");
      assert.deepEqual(found.pendingWrites, [["task", "said", "w"]]);
      await begun![0].put(begun![1], checkpoint("next", 8), meta, { said: 8 });
    } else if (begun) {
      await assert.rejects(begun[0].put(begun[1], checkpoint("next", 8), meta, { said: 8 }), isConflict);
    }
  }
});

test("of twenty writers at once one puts the next checkpoint", async () => {
  const config: RunnableConfig = { configurable: { thread_id: "race", checkpoint_ns: "" } };
  const root = await new TurnlogSaver({ client }).put(config, checkpoint("root", 1), meta, { said: 1 });
  const savers = Array.from({ length: 20 }, () => new TurnlogSaver({ client }));
  await Promise.all(savers.map((s) => s.getTuple(config)));
  const puts = await Promise.allSettled(
    savers.map((s, i) => s.put(root, checkpoint(`writer ${i}`, 2), meta, { said: 2 })),
  );
  assert.equal(puts.filter((p) => p.status === "fulfilled").length, 1);
  for (const p of puts) if (p.status === "rejected") assert.ok(isConflict(p.reason), String(p.reason));
});

test("a put that is repeated takes place once", async () => {
  const saver = new TurnlogSaver({ client });
  const config: RunnableConfig = { configurable: { thread_id: "repeated", checkpoint_ns: "" } };
  await saver.getTuple(config);
  const once = checkpoint("once", 1);
  const put = await saver.put(config, once, meta, { said: 1 });
  assert.deepEqual(await saver.put(config, once, meta, { said: 1 }), put);
  await saver.put(put, checkpoint("next", 2), meta, { said: 2 });
  const listed = [];
  for await (const t of saver.list(config)) listed.push(t.checkpoint.channel_values["said"]);
  assert.deepEqual(listed, ["next", "once"]);
});

test("a step stores what it changes, not the state", async () => {
  const saver = new TurnlogSaver({ client, prefix: "growth:" });
  const large = "x".repeat(100_000);
  let config: RunnableConfig = { configurable: { thread_id: "t", checkpoint_ns: "" } };
  for (let step = 1; step <= 50; step++) {
    const state = { ...checkpoint(step, step), channel_values: { said: step, large } };
    state.channel_versions = { said: step, large: 1 };
    config = await saver.put(config, state, meta, step === 1 ? { said: 1, large: 1 } : { said: step });
  }
  const read = await new TurnlogSaver({ client, prefix: "growth:" }).getTuple(config);
  assert.deepEqual(read!.checkpoint.channel_values, { said: 50, large });
  const { createClient } = await import("@redis/client");
  const redis = await createClient({ url: `redis://${cluster.addrs[0]}` }).connect();
  const fields = await redis.hGetAll("growth:data:t:");
  redis.destroy();
  const bytes = Object.values(fields).reduce((n, value) => n + value.length, 0);
  assert.ok(bytes < 2 * large.length, `${bytes} bytes`);
});

test("of a delta channel, a step stores and sends what it adds", async () => {
  const counted = cluster.client() as Client & { retry: (...given: unknown[]) => Promise<unknown> };
  const retry = counted.retry.bind(counted);
  let requests = 0;
  let bytes = 0;
  counted.retry = (...given) => {
    requests++;
    bytes += (given[0] as { bytes: number }).bytes;
    return retry(...given);
  };
  const message = "m".repeat(1_000);
  const added = new DeltaValue(z.array(z.string()).default([]), {
    inputSchema: z.string(),
    reducer: (said, more) => [...said, ...more],
    snapshotFrequency: 1_000,
  });
  const steps = 200;
  const app = new StateGraph(new StateSchema({ said: added }))
    .addNode("say", ({ said }) => ({ said: message + said.length }))
    .addEdge(START, "say")
    .addConditionalEdges("say", ({ said }) => (said.length < steps ? "say" : END))
    .compile({ checkpointer: new TurnlogSaver({ client: counted, prefix: "delta:" }) });
  const config = { configurable: { thread_id: "t" }, recursionLimit: steps + 10, durability: "sync" as const };
  await app.invoke({}, config);
  assert.ok(requests < 2 * steps + 10, `${requests} requests`); // a put and its writes
  assert.ok(bytes < steps * (message.length + 6_000), `${bytes} bytes`); // the whole state would be 20 MB
  const again = await app.getState({ configurable: { thread_id: "t" } });
  assert.equal((again.values as { said: string[] }).said.length, steps);
});

test("a checkpoint of many channels is read in one request, unless its values are too large for one reply", async () => {
  const counted = cluster.client() as Client & { retry: (...given: unknown[]) => Promise<unknown> };
  const retry = counted.retry.bind(counted);
  let reads = 0;
  counted.retry = (...given) => {
    if ((given[0] as { command: string }).command === "HMGET") reads++;
    return retry(...given);
  };
  const many = (value: string, n: number): Checkpoint => {
    const channels = Array.from({ length: n }, (_, i) => `channel ${i}`);
    return {
      ...checkpoint("x", 1),
      channel_values: Object.fromEntries(channels.map((c, i) => [c, `${i} ${value}`])),
      channel_versions: Object.fromEntries(channels.map((c) => [c, 1])),
    };
  };
  for (const [thread_id, state, most] of [
    ["many", many("small", 40), 2], // that of the checkpoint, and that of its values
    ["large", many("x".repeat(7 << 20), 12), 4], // one in vain, and two in its place
  ] as const) {
    const config: RunnableConfig = { configurable: { thread_id, checkpoint_ns: "" } };
    let put = config;
    const saver = new TurnlogSaver({ client: counted, prefix: "requests:" });
    const values = Object.entries(state.channel_values);
    // One checkpoint for each two channels, since a step changes 16 MiB at most.
    for (let i = 0; i < values.length; i += 2) {
      const some = { ...state, id: uuid6(i), channel_values: Object.fromEntries(values.slice(0, i + 2)) };
      const changed = Object.fromEntries(values.slice(i, i + 2).map(([c]) => [c, 1]));
      put = await saver.put(put, some, meta, changed);
    }
    reads = 0;
    const read = await new TurnlogSaver({ client: counted, prefix: "requests:" }).getTuple(config);
    assert.deepEqual(Object.entries(read!.checkpoint.channel_values).sort(), values.sort());
    assert.ok(reads <= most, `${reads} reads`);
  }
});

test("a thread is deleted with all it has, and no other one", async () => {
  const saver = new TurnlogSaver({ client, prefix: "gone:" });
  for (const thread_id of ["1", "12", "1:2", "1%3A2"]) {
    for (const checkpoint_ns of ["", "child:x"]) {
      const put = await saver.put(
        { configurable: { thread_id, checkpoint_ns } },
        checkpoint(thread_id, 1),
        meta,
        { said: 1 },
      );
      await saver.putWrites(put, [["said", "w"]], "task");
    }
  }
  await saver.deleteThread("1");
  const left = [];
  for await (const t of saver.list({})) left.push(t.config.configurable!["thread_id"]);
  assert.deepEqual(left.sort(), ["1%3A2", "1%3A2", "12", "12", "1:2", "1:2"].sort());
  const { createClient } = await import("@redis/client");
  const redis = await createClient({ url: `redis://${cluster.addrs[0]}` }).connect();
  const keys = await redis.keys("gone:*");
  redis.destroy();
  assert.deepEqual(
    keys.filter((k) => k.split(":")[2] === "1"),
    [],
  );
  assert.equal(keys.length, 18);
});

test("of a task's writes under one index the first is kept, of its errors the last", async () => {
  const saver = new TurnlogSaver({ client });
  const config: RunnableConfig = { configurable: { thread_id: "writes", checkpoint_ns: "" } };
  const put = await saver.put(config, checkpoint("x", 1), meta, { said: 1 });
  await saver.putWrites(put, [["said", "b"]], "task-b", "~2");
  await saver.putWrites(
    put,
    [
      ["said", "first"],
      ["__error__", "e1"],
    ],
    "task-a",
    "~1",
  );
  await saver.putWrites(
    put,
    [
      ["said", "second"],
      ["__error__", "e2"],
    ],
    "task-a",
    "~1",
  );
  assert.deepEqual((await saver.getTuple(put))!.pendingWrites, [
    ["task-a", "__error__", "e2"],
    ["task-a", "said", "first"],
    ["task-b", "said", "b"],
  ]);
});

test("what is no checkpoint is an error, never an empty thread", async () => {
  const saver = new TurnlogSaver({ client });
  const config: RunnableConfig = { configurable: { thread_id: "foreign", checkpoint_ns: "" } };
  const put = await saver.put(config, checkpoint("x", 1), meta, { said: 1 });
  const id = String(put.configurable!["checkpoint_id"]);
  await client.session(`langgraph:writes:foreign::${id}`).append({ data: "not ours" });
  await assert.rejects(saver.getTuple(put), (err) => TurnlogError.is(err, "CORRUPT"));
});

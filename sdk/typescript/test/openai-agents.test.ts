import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { after, before, test, type TestContext } from "node:test";
import {
  MemorySession,
  isSessionHistoryRewriteAwareSession,
  isSessionHistoryTransactionAwareSession,
  type AgentInputItem,
} from "@openai/agents-core";
import { TurnlogError, type Client, type ReadOptions, type Session } from "turnlog";
import { TurnlogSession } from "turnlog/openai-agents";
import { Cluster } from "./cluster.js";
import { Proxy } from "./proxy.js";

let cluster: Cluster;
let client: Client;
before(async () => {
  cluster = await Cluster.start(3);
  client = cluster.client();
});
after(() => cluster.stop());

const user = (content: string): AgentInputItem => ({ type: "message", role: "user", content });
const call = (callId: string, args = "{}"): AgentInputItem & { type: "function_call" } => ({
  type: "function_call",
  callId,
  name: "tool",
  arguments: args,
  status: "completed",
});
const conflict = (err: unknown): boolean =>
  TurnlogError.is(err) && ["CONFLICT", "ID_REUSED"].includes(err.kind);
const append = (operationId: string, ...items: AgentInputItem[]) =>
  ({ operationId, transaction: { type: "append_items", items } }) as const;
const replace = (operationId: string, expectedSuffix: AgentInputItem[], replacement: AgentInputItem[]) =>
  ({ operationId, transaction: { type: "replace_suffix", expectedSuffix, replacement } }) as const;

test("the capabilities are those that the SDK asks for", async () => {
  const session = new TurnlogSession({ client, sessionId: "kind" });
  assert.ok(isSessionHistoryTransactionAwareSession(session));
  assert.ok(isSessionHistoryRewriteAwareSession(session));
  assert.equal(await session.getSessionId(), "kind");
  assert.match(await new TurnlogSession({ client }).getSessionId(), /^[0-9a-f-]{36}$/);
});

test("it does what the SDK's own session in memory does", async () => {
  const ours = new TurnlogSession({ client, sessionId: "same" });
  const theirs = new MemorySession({ sessionId: "same" });
  /** Does the same to both, and compares the outcome and the history. */
  const both = async (
    what: string,
    act: (s: TurnlogSession | MemorySession) => Promise<unknown>,
  ): Promise<void> => {
    const outcome = async (s: TurnlogSession | MemorySession): Promise<unknown> => {
      const result = await act(s).then(
        (value) => ({ value }),
        () => "rejected",
      );
      return { result, history: await s.getItems() };
    };
    assert.deepEqual(await outcome(ours), await outcome(theirs), what);
  };
  const binary = {
    type: "message",
    role: "user",
    content: [{ type: "input_image", image: "x" }],
    providerData: { raw: new Uint8Array([0, 255]) },
  };
  await both("empty", (s) => s.getItems());
  await both("pop of nothing", (s) => s.popItem());
  await both("add", (s) => s.addItems([user("1"), call("a"), user("2"), binary as AgentInputItem]));
  await both("add nothing", (s) => s.addItems([]));
  for (const limit of [0, 1, 2, 10]) await both(`limit ${limit}`, (s) => s.getItems(limit));
  await both("pop", (s) => s.popItem());
  await both("mutate", (s) =>
    s.applyHistoryMutations({
      mutations: [{ type: "replace_function_call", callId: "a", replacement: call("a", '{"x":1}') }],
    }),
  );
  await both("mutate what is not there", (s) =>
    s.applyHistoryMutations({
      mutations: [{ type: "replace_function_call", callId: "z", replacement: call("z") }],
    }),
  );
  await both("append once", (s) => s.applyHistoryTransaction(append("op-1", user("3"), user("4"))));
  await both("append again", (s) => s.applyHistoryTransaction(append("op-1", user("3"), user("4"))));
  await both("append another under the id", (s) =>
    s.applyHistoryTransaction(append("op-1", user("3"), user("5"))),
  );
  await both("append fewer under the id", (s) => s.applyHistoryTransaction(append("op-1", user("3"))));
  await both("append nothing", (s) => s.applyHistoryTransaction(append("op-2")));
  await both("replace with another suffix", (s) =>
    s.applyHistoryTransaction(replace("op-3", [user("x")], [user("y")])),
  );
  await both("replace more than there is", (s) =>
    s.applyHistoryTransaction(replace("op-3", Array(9).fill(user("4")), [])),
  );
  await both("replace", (s) => s.applyHistoryTransaction(replace("op-3", [user("3"), user("4")], [user("5")])));
  await both("replace again", (s) =>
    s.applyHistoryTransaction(replace("op-3", [user("3"), user("4")], [user("5")])),
  );
  await both("replace another under the id", (s) =>
    s.applyHistoryTransaction(replace("op-3", [user("5")], [user("5")])),
  );
  await both("limit after a mark", (s) => s.getItems(2));
  await both("cut", (s) => s.applyHistoryTransaction(replace("op-4", [user("5")], [])));
  await both("cut again", (s) => s.applyHistoryTransaction(replace("op-4", [user("5")], [])));
  await both("replace nothing by something", (s) =>
    s.applyHistoryTransaction(replace("op-5", [], [user("6")])),
  );
  await both("again", (s) => s.applyHistoryTransaction(replace("op-5", [], [user("6")])));
  await both("no id", (s) => s.applyHistoryTransaction(append(" ", user("7"))));
  await both("pop passes over marks", (s) => s.popItem());
  await both("pop", (s) => s.popItem());
  await both("clear", (s) => s.clearSession());
});

test("a transaction whose reply is lost takes place once", async (t) => {
  const proxy = await Proxy.start(cluster.addrs[0]!);
  t.after(() => proxy.stop());
  const session = new TurnlogSession({ client: cluster.client({ addrs: [proxy.addr] }), sessionId: "lost" });
  proxy.lose("TURN.APPEND");
  await session.applyHistoryTransaction(append("a", user("1"), user("2")));
  proxy.lose("TURN.REPLACE");
  await session.applyHistoryTransaction(replace("b", [user("2")], [user("3")]));
  assert.deepEqual(await session.getItems(), [user("1"), user("3")]);
});

test("an item is removed once, though the reply is lost and other workers pop and add", async (t) => {
  const proxy = await Proxy.start(cluster.addrs[0]!);
  t.after(() => proxy.stop());
  const session = new TurnlogSession({ client, sessionId: "popped" });
  await session.addItems([user("1"), user("2"), user("3")]);
  proxy.lose("TURN.REPLACE");
  const far = new TurnlogSession({ client: cluster.client({ addrs: [proxy.addr] }), sessionId: "popped" });
  assert.deepEqual(await far.popItem(), user("3"));
  assert.equal(proxy.seen.get("TURN.REPLACE"), 2);
  assert.deepEqual(await session.getItems(), [user("1"), user("2")]);

  const got: (AgentInputItem | undefined)[] = [];
  const work = async (n: number): Promise<void> => {
    const own = new TurnlogSession({ client, sessionId: "popped" });
    for (let i = 0; i < 5; i++) {
      await own.addItems([user(`${n} ${i}`)]);
      got.push(await own.popItem());
    }
  };
  await Promise.all([0, 1, 2].map(work));
  const items = [...got, ...(await session.getItems())].map(
    (item) => item && "content" in item && item.content,
  );
  assert.equal(new Set(items).size, 17, "an item was lost, or popped twice");
  assert.equal(items.length, 17);
});

test("of two workers that replace the same suffix one is told", async () => {
  const [a, b] = [1, 2].map(() => new TurnlogSession({ client, sessionId: "workers" })) as [
    TurnlogSession,
    TurnlogSession,
  ];
  await a.addItems([user("1"), user("2")]);
  const outcomes = await Promise.allSettled([
    a.applyHistoryTransaction(replace("by-a", [user("2")], [user("a")])),
    b.applyHistoryTransaction(replace("by-b", [user("2")], [user("b")])),
  ]);
  const rejected = outcomes.filter((o) => o.status === "rejected");
  assert.equal(rejected.length, 1);
  assert.ok(conflict((rejected[0] as PromiseRejectedResult).reason));
  assert.equal((await a.getItems()).length, 2);
});

test("compaction removes nothing that it has not seen", async () => {
  const a = new TurnlogSession({ client, sessionId: "compaction" });
  const b = new TurnlogSession({ client, sessionId: "compaction" });
  await a.addItems([user("1"), user("2")]);
  await a.getItems();
  await b.addItems([user("from b")]);
  await a.addItems([user("from a")]);
  await assert.rejects(a.replaceHistoryWithCompaction([user("summary")]), conflict);
  assert.equal((await a.getItems()).length, 4);
  await a.addItems([user("more")]);
  await a.replaceHistoryWithCompaction([user("summary of 5")]);
  assert.deepEqual(await b.getItems(), [user("summary of 5")]);
});

test("compaction of a conversation that does not exist stores what it is given", async () => {
  const a = new TurnlogSession({ client, sessionId: "compaction of none" });
  await a.replaceHistoryWithCompaction([]);
  await a.replaceHistoryWithCompaction([user("summary")]);
  assert.deepEqual(await a.getItems(), [user("summary")]);
  await client.session("compaction of none").delete();
  await assert.rejects(a.replaceHistoryWithCompaction([user("of what is gone")]), TurnlogError);
  assert.deepEqual(await a.getItems(), []);
  await a.replaceHistoryWithCompaction([user("again")]);
  assert.deepEqual(await a.getItems(), [user("again")]);
});

test("mutations by one worker keep what others append", async () => {
  const session = new TurnlogSession({ client, sessionId: "mutations" });
  await session.addItems([user("1"), call("a"), call("b")]);
  const other = new TurnlogSession({ client, sessionId: "mutations" });
  const mutate = (callId: string, n: number): Promise<void> =>
    session.applyHistoryMutations({
      mutations: [{ type: "replace_function_call", callId, replacement: call(callId, `{"n":${n}}`) }],
    });
  const adding = (async () => {
    for (let i = 0; i < 20; i++) await other.addItems([user(`other ${i}`)]);
  })();
  for (let n = 0; n < 5; n++) await Promise.all([mutate("a", n), mutate("b", n)]);
  await adding;
  const items = await session.getItems();
  assert.equal(items.length, 23);
  assert.deepEqual(items.slice(0, 3), [user("1"), call("a", '{"n":4}'), call("b", '{"n":4}')]);
});

/** Has `before` done before each read of any session of this client, with how many there were before. */
function beforeReads(t: TestContext, client: Client, before: (reads: number) => Promise<unknown>): void {
  const prototype = Object.getPrototypeOf(client.session("any")) as Session;
  const { read } = prototype;
  let reads = 0;
  let within = false;
  t.mock.method(prototype, "read", async function (this: Session, options: ReadOptions) {
    if (!within) {
      within = true;
      await before(reads++);
      within = false;
    }
    return read.call(this, options);
  });
}

test("items are of one moment, though the history is replaced between two pages", async (t) => {
  const session = new TurnlogSession({ client, sessionId: "moment" });
  await session.addItems([user("1"), user("2")]);
  await session.popItem(); // leaves a mark, so that one item takes two pages
  const other = client.session("moment");
  beforeReads(t, client, async (reads) => {
    if (reads !== 1) return;
    await other.clear();
    await session.addItems([user("3"), user("4")]);
  });
  assert.deepEqual(await session.getItems(1), [user("4")]);
});

test("a history of many pages can be read while others add to it", async (t) => {
  const session = new TurnlogSession({ client, sessionId: "grows" });
  for (let i = 0; i < 3; i++) {
    await session.addItems(Array.from({ length: 700 }, (_, j) => user(String(700 * i + j))));
  }
  beforeReads(t, client, async (reads) => {
    if (reads > 9) throw new Error("it is read again and again");
    await session.addItems([user(`meanwhile ${reads}`)]);
  });
  const items = await session.getItems();
  assert.deepEqual(
    items.slice(0, 2100),
    Array.from({ length: 2100 }, (_, i) => user(String(i))),
  );
});

test("the conversation of an agent in Python, which tests the other direction with the same file", async () => {
  interface Pair {
    python: JSONObject;
    typescript: JSONObject;
  }
  type JSONObject = Record<string, unknown>;
  const file = resolve(import.meta.dirname, "../../../testdata/openai-agents-items.json");
  const pairs = JSON.parse(readFileSync(file, "utf8")) as Pair[];
  await client.session("python").append(pairs.map((pair) => ({ data: JSON.stringify(pair.python) })));
  const session = new TurnlogSession({ client, sessionId: "python" });
  const wanted = pairs.map((pair) => pair.typescript);
  assert.deepEqual(await session.getItems(), wanted);
  await session.clearSession();
  await session.addItems(wanted as AgentInputItem[]);
  assert.deepEqual(await session.getItems(), wanted);
});

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { TurnlogError, type Client, type ErrorKind } from "turnlog";
import { Cluster } from "./cluster.js";
import { Proxy } from "./proxy.js";

let cluster: Cluster;
let client: Client;
before(async () => {
  cluster = await Cluster.start(3);
  client = cluster.client();
});
after(() => cluster.stop());

const texts = (messages: { text: string }[]): string[] => messages.map((m) => m.text);
const text = (data: Uint8Array | undefined): string => Buffer.from(data!).toString();

/** Expects an error of that kind, about that condition or step, and that it says that nothing took place. */
function refused(kind: ErrorKind, condition?: number, step?: number) {
  return (err: unknown): true => {
    assert.ok(TurnlogError.is(err, kind), `${kind} expected: ${String(err)}`);
    assert.deepEqual([err.outcome, err.condition, err.step], ["not_applied", condition, step]);
    assert.ok(!/(condition|step|revision)=/.test(err.message), err.message);
    return true;
  };
}

async function fill(...keys: string[]): Promise<void> {
  for (const key of keys) await client.session(key).append(["a", "b", "c"].map((id) => ({ id, data: id })));
}

test("steps answer as calls do", async () => {
  await fill("old");
  const tx = client
    .transaction()
    .ifAbsent("s")
    .ifExists("old")
    .ifSeq("old", 3)
    .append("s", [{ data: "1" }, { id: "m2", data: Buffer.from("2") }], { metadata: { user: "u1" } })
    .setMetadata("s", { k: "v" }, { unset: ["user"] })
    .setFields("state", { x: { n: 1 }, y: new Uint8Array([255]) })
    .removeFields("state", ["y", "z"])
    .trim("old", { keep: 1 })
    .expire("s", 3600_000, { slide: true })
    .append("s", { data: "3" })
    .clear("old")
    .persist("s")
    .delete("old");
  const first = await tx.commit();
  const [appended, metadata, fresh, gone, trimmed, expires, more, cleared, persists, deleted] = first.steps;
  assert.deepEqual([appended.firstSeq, appended.lastSeq, first.duplicate], [1, 2, false]);
  assert.ok(appended.revision < metadata && metadata < more.revision && more.revision <= first.revision);
  assert.deepEqual([fresh, gone, expires, persists, deleted], [2, 1, true, true, true]);
  assert.deepEqual([trimmed.removed, cleared.removed], [2, 1]);
  const history = await client.session("s").read({ metadata: true });
  assert.deepEqual([texts(history.messages), { ...history.metadata }], [["1", "2", "3"], { k: "v" }]);
  assert.equal((await client.session("s").read()).metadata, undefined);
  assert.equal(text((await client.hash("state").all()).x), '{"n":1}');
  assert.equal((await client.session("old").last(1)).revision, 0);
  const again = await tx.commit();
  assert.deepEqual(again, { ...first, duplicate: true });
  assert.equal((await client.session("s").last(9)).count, 3);
});

test("steps on messages answer as calls do", async () => {
  await fill("m", "other", "from");
  const tx = client
    .transaction()
    .edit("m", { id: "a" }, "x")
    .remove("m", { seq: 2 })
    .replace("m", 3, { data: "y" })
    .pop("other", 2, "head")
    .retain("other", { messages: 1 })
    .retain("m", "all")
    .retain("turns", { turns: 3 })
    .rename("from", "to", { replace: true });
  const first = await tx.commit();
  const [edited, removed, replaced, popped, kept, all, turns, renamed] = first.steps;
  assert.deepEqual([edited.seq, removed.removed, replaced.firstSeq, replaced.removed], [1, 1, 4, 1]);
  assert.deepEqual(texts(popped.messages), ["a", "b"]);
  assert.deepEqual([kept.removed, kept.count, all.count, turns.count], [0, 1, 2, 0]);
  assert.ok(renamed <= first.revision);
  assert.deepEqual(texts((await client.session("m").last(9)).messages), ["x", "y"]);
  assert.equal((await client.session("to").last(9)).count, 3);
  assert.equal((await client.session("turns").info()).retainTurns, 3);
  assert.deepEqual((await tx.commit()).steps, first.steps);
  const gone = client.transaction().remove("m", { seq: 1 }).edit("m", { seq: 1 }, "z");
  await assert.rejects(gone.commit(), refused("NOT_FOUND", undefined, 2));
  await assert.rejects(
    client.transaction().append("m", { data: "z" }).pop("m").commit(),
    refused("INVALID", undefined, 2),
  );
  assert.equal((await client.session("m").last(9)).count, 2);
});

test("a transaction that is rejected changes nothing", async () => {
  const { revision } = await client.session("r").append({ id: "m1", data: "a" });
  await client.hash("h").set({ f: "v" });
  const changes = () => client.transaction().append("r2", { data: "x" }).setMetadata("r", { k: "v" });
  const tests: [{ commit(): Promise<unknown> }, ErrorKind, (number | undefined)?, number?][] = [
    [
      changes()
        .ifExists("r")
        .ifRevision("r", revision + 7),
      "CONFLICT",
      2,
    ],
    [changes().ifSeq("r", 2), "CONFLICT", 1],
    [changes().ifAbsent("h"), "CONFLICT", 1],
    [changes().ifExists("none"), "CONFLICT", 1],
    [changes().append("h", { data: "x" }), "WRONG_TYPE", undefined, 3],
    [changes().append("r", { id: "m1", data: "a" }), "CONFLICT", undefined, 3],
    [changes().append("r", { id: "m1", data: "b" }), "ID_REUSED", undefined, 3],
  ];
  for (const [tx, ...error] of tests) await assert.rejects(tx.commit(), refused(...error));
  await assert.rejects(changes().ifRevision("r", 0).commit(), (e: TurnlogError) => e.revision === revision);
  assert.equal((await client.session("r").info()).revision, revision);
  assert.equal((await client.session("r2").last(1)).revision, 0);
  await assert.rejects(client.transaction().ifExists("r").commit(), refused("INVALID"));
  assert.throws(() => client.transaction().append("", { data: "x" }), refused("INVALID"));
});

test("another transaction under the same id is refused", async () => {
  await client.transaction("once").append("ids", { data: "x" }).commit();
  await assert.rejects(client.transaction("once").append("ids", { data: "y" }).commit(), refused("ID_REUSED"));
});

test("a commit whose reply is lost takes place once, or may be made again", async () => {
  const proxy = await Proxy.start(cluster.addrs[0]!);
  try {
    proxy.lose("TURN.TX");
    const retrying = cluster.client({ addrs: proxy.addr });
    const bytes = Buffer.from("before");
    const committing = retrying.transaction().append("lost", { data: bytes }).pop("popped").commit();
    bytes.fill("x");
    assert.equal((await committing).duplicate, true);
    assert.deepEqual(texts((await client.session("lost").last(9)).messages), ["before"]);

    proxy.lose("TURN.TX");
    const once = cluster.client({ addrs: proxy.addr, retryFor: 0 });
    const tx = once.transaction().append("lost", { data: "second" });
    await assert.rejects(tx.commit(), (e: TurnlogError) => {
      assert.deepEqual([e.kind, e.outcome], ["UNKNOWN_OUTCOME", "unknown"]);
      return true;
    });
    assert.equal((await tx.commit()).duplicate, true);
    assert.equal((await client.session("lost").last(9)).count, 2);

    proxy.lose("TURN.TX");
    assert.equal(await retrying.hash("fields").set({ f: "v" }), 1);
    assert.equal(text((await client.hash("fields").get(["f"])).f), "v");
  } finally {
    proxy.stop();
  }
});

test("an empty id is none of a transaction", async () => {
  const proxy = await Proxy.start(cluster.addrs[0]!);
  try {
    proxy.lose("TURN.TX");
    const retrying = cluster.client({ addrs: proxy.addr });
    await retrying.transaction("").append("empty-id", { data: "once" }).commit();
    assert.deepEqual(texts((await client.session("empty-id").last(9)).messages), ["once"]);
  } finally {
    proxy.stop();
  }
});

test("one of many transactions of the same revision takes place", async () => {
  const won = await Promise.all(
    Array.from({ length: 8 }, async (_, i) => {
      const tx = client
        .transaction()
        .ifRevision("race", 0)
        .append("race", { data: String(i) });
      try {
        await tx.setFields("race:state", { by: String(i) }).commit();
        return [String(i)];
      } catch (err) {
        if (!TurnlogError.is(err, "CONFLICT")) throw err;
        return [];
      }
    }),
  );
  assert.equal(won.flat().length, 1);
  assert.deepEqual(texts((await client.session("race").last(9)).messages), won.flat());
  assert.equal(text((await client.hash("race:state").get(["by"])).by), won.flat()[0]);
});

test("a transaction goes on through the death of the leader, once", async () => {
  const results = Array.from({ length: 20 }, async (_, i) => {
    if (i === 5) await cluster.kill(await cluster.leader(client));
    return client
      .transaction()
      .append("k1", { data: String(i) })
      .append("k2", { data: String(i) })
      .commit();
  });
  await Promise.all(results);
  for (const key of ["k1", "k2"]) {
    const { messages } = await client.session(key).last(100);
    assert.deepEqual(texts(messages).sort(), Array.from({ length: 20 }, (_, i) => String(i)).sort());
  }
  const [first, second] = await Promise.all(["k1", "k2"].map((key) => client.session(key).last(100)));
  assert.deepEqual(texts(first!.messages), texts(second!.messages)); // nothing came in between
});

test("a hash", async () => {
  const h = client.hash("hash");
  assert.deepEqual({ ...(await h.all()) }, {});
  assert.equal(await h.set({ x: "ü", b: new Uint8Array([0, 255]) }), 2);
  assert.equal(await h.set({ x: "1", y: "2" }), 1);
  const some = await h.get(["y", "none", "x"]);
  assert.deepEqual([Object.keys(some), text(some.x), text(some.y)], [["y", "x"], "1", "2"]);
  assert.deepEqual(Object.keys(await h.all()).sort(), ["b", "x", "y"]);
  assert.equal(await h.remove(["x", "none"]), 1);
  assert.equal(await h.remove(["y", "b"]), 2);
  assert.deepEqual({ ...(await h.all()) }, {});
  for (const nothing of [h.set({}), h.remove([]), h.get([])]) await assert.rejects(nothing, refused("INVALID"));
  await client.session("hash").append({ data: "x" });
  await assert.rejects(h.set({ x: "1" }), refused("WRONG_TYPE", undefined, 1));
  await assert.rejects(h.all(), refused("WRONG_TYPE"));
});

test("a step that is added while a commit is in flight belongs to the next one", async () => {
  const tx = client.transaction().append("late", { data: "1" });
  const committing = tx.commit();
  tx.append("late", { data: "2" });
  assert.equal((await committing).steps.length, 1);
  assert.deepEqual(texts((await client.session("late").last(9)).messages), ["1"]);
});

test("a hash of many fields", async () => {
  const names = Array.from({ length: 150_000 }, (_, i) => `f${i}`);
  const calls: (() => Promise<unknown>)[] = [
    () => client.hash("many").set(Object.fromEntries(names.map((n) => [n, "1"]))),
    () => client.hash("many").remove(names),
    () => client.hash("many").get(names),
  ];
  for (const call of calls) {
    let error: unknown;
    await Promise.resolve()
      .then(call)
      .catch((e) => (error = e));
    assert.ok(error === undefined || TurnlogError.is(error), String(error));
  }
});

test("a transaction over other keys is another one, whatever its id", async () => {
  await client.transaction("known").append("known1", { data: "x" }).commit();
  assert.equal((await client.transaction("known").append("known2", { data: "x" }).commit()).duplicate, false);
  const again = client.transaction("known").append("known2", { data: "y" });
  await assert.rejects(again.commit(), refused("ID_REUSED"));
});

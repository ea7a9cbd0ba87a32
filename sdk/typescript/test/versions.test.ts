import assert from "node:assert/strict";
import { after, before, test, type TestContext } from "node:test";
import { TurnlogError } from "turnlog";
import { Cluster } from "./cluster.js";
import { Proxy } from "./proxy.js";

// A client with nodes of an older and of a newer version: a proxy makes a real one look like that.
let cluster: Cluster;
before(async () => (cluster = await Cluster.start(1)));
after(() => cluster.stop());

async function proxied(t: TestContext) {
  const proxy = await Proxy.start(cluster.addrs[0]!);
  t.after(() => proxy.stop());
  return { proxy, client: cluster.client({ addrs: [proxy.addr] }) };
}

/** Requests as a node sees them that does not know the word. */
const without = (word: string) => (data: string) => data.replaceAll(word, `${word.slice(0, -1)}?`);

const olderThan = (command: string) => (err: unknown) => {
  assert.ok(TurnlogError.is(err, "INVALID"), String(err));
  assert.equal(err.outcome, "not_applied");
  assert.match(err.message, new RegExp(`the server does not know ${command}\\?,.*upgrade its nodes`));
  return true;
};

test("a command that the server does not know", async (t) => {
  const { proxy, client } = await proxied(t);
  proxy.request = without("TURN.FORK");
  const chat = client.session("older");
  await chat.append({ data: "a secret" });
  await assert.rejects(chat.fork("fork"), olderThan("TURN.FOR"));
  assert.equal((await chat.last(1)).count, 1, "what the server knows works");
});

for (const refusal of [
  "TOO_LARGE of another node's limits",
  "WRONGTYPE another type since",
  "INVALID it says",
]) {
  test(`a retry that a node refuses with ${refusal} says nothing of the attempt before`, async (t) => {
    const [first, second] = await Promise.all([Proxy.start(cluster.addrs[0]!), Proxy.start(cluster.addrs[0]!)]);
    t.after(() => (first.stop(), second.stop()));
    first.lose("TURN.APPEND");
    second.reply = (data) => (second.seen.has("TURN.APPEND") ? `-${refusal}\r\n` : data);
    const key = `refused ${refusal}`;
    const chat = cluster.client({ addrs: [first.addr, second.addr] }).session(key);
    await assert.rejects(chat.append({ data: "stored" }), (err) => TurnlogError.is(err, "UNKNOWN_OUTCOME"));
    assert.equal((await cluster.client().session(key).last(1)).count, 1);
  });
}

test("an option that the server does not know", async (t) => {
  const { proxy, client } = await proxied(t);
  proxy.request = without("EXPECT");
  const chat = client.session("option");
  await assert.rejects(chat.append({ data: "1" }, { expect: 0 }), (err) => {
    assert.ok(
      TurnlogError.is(err, "INVALID") && err.outcome === "not_applied" && /EXPEC\?/.test(err.message),
      String(err),
    );
    return true;
  });
  assert.equal((await chat.read()).count, 0);
});

test("a retry that reaches an older node says nothing of the attempt before", async (t) => {
  const [newer, older] = await Promise.all([Proxy.start(cluster.addrs[0]!), Proxy.start(cluster.addrs[0]!)]);
  t.after(() => (newer.stop(), older.stop()));
  older.request = without("TURN.APPEND");
  newer.lose("TURN.APPEND");
  const chat = cluster.client({ addrs: [newer.addr, older.addr] }).session("skew");
  await assert.rejects(chat.append({ data: "stored" }), (err) => {
    assert.ok(TurnlogError.is(err, "UNKNOWN_OUTCOME"), String(err));
    assert.match(err.message, /the server does not know TURN.APPEN/);
    return true;
  });
  assert.equal((await cluster.client().session("skew").last(1)).count, 1);
});

test("a server that is no turnlog", async (t) => {
  const { proxy, client } = await proxied(t);
  proxy.request = without("TURN.NS");
  await assert.rejects(client.session("none").append({ data: "1" }), olderThan("TURN.N"));
});

test("fields that the client does not know", async (t) => {
  const { proxy, client } = await proxied(t);
  const chat = client.session("newer");
  await chat.append([{ data: "1" }, { data: "2" }]);
  proxy.reply = (data) =>
    data.replace(/^%(\d+)\r\n/, (_, n) => `%${Number(n) + 1}\r\n$5\r\nnovel\r\n*2\r\n:1\r\n_\r\n`);
  assert.equal((await chat.append({ data: "3" })).lastSeq, 3);
  assert.deepEqual(
    (await chat.last(2)).messages.map((m) => m.text),
    ["2", "3"],
  );
  assert.equal((await chat.info()).count, 3);
  assert.equal((await chat.pop()).messages[0]?.text, "3");
  for await (const session of client.sessions("newer")) assert.equal(session.count, 2);
});

test("an error that the client does not know", async (t) => {
  const { proxy, client } = await proxied(t);
  const chat = client.session("error");
  await chat.append({ data: "1" });
  proxy.reply = (data) => data.replace(/^-[A-Z_]+/, "-QUOTA_OF_TOMORROW");
  await assert.rejects(chat.append({ data: "2" }, { expect: 99 }), (err) => {
    assert.ok(TurnlogError.is(err) && err.outcome === "not_applied" && /QUOTA_OF_TOMORROW/.test(err.message));
    return true;
  });
});

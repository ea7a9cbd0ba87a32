import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { TurnlogError, type Client } from "turnlog";
import { Cluster } from "./cluster.js";
import { Proxy } from "./proxy.js";

let cluster: Cluster;
let client: Client;
before(async () => {
  cluster = await Cluster.start(3);
  client = cluster.client();
  await client.session("ready").append({ data: "yes" });
});
after(() => cluster.stop());

const writers = 6;
const turnsEach = 60;

for (const followLeader of [false, true]) {
  test(`the leader is killed while ${writers} writers append: nothing lost, nothing doubled (followLeader: ${followLeader})`, async () => {
    const c = cluster.client({ followLeader });
    const chat = c.session(`kill-${followLeader}`);
    const total = writers * turnsEach * 2;
    const tailed: string[] = [];
    const tailing = (async () => {
      for await (const m of chat.tail()) {
        tailed.push(m.text);
        if (tailed.length === total) return;
      }
    })();
    let acknowledged = 0;
    let killed = Promise.resolve();
    const write = async (w: number): Promise<void> => {
      for (let t = 0; t < turnsEach; t++) {
        await chat.append([{ data: `${w} ${t} question` }, { data: `${w} ${t} answer` }]);
        if (++acknowledged === 100) killed = kill();
      }
    };
    const kill = async (): Promise<void> => {
      const leader = await cluster.leader(client);
      await cluster.kill(leader);
      cluster.startNode(leader);
    };
    await Promise.all(Array.from({ length: writers }, (_, w) => write(w)));
    await killed;

    const stored: string[] = [];
    for await (const m of chat.all()) stored.push(m.text);
    assert.equal(stored.length, total);
    for (let w = 0; w < writers; w++) {
      const wanted = Array.from({ length: turnsEach }, (_, t) => [
        `${w} ${t} question`,
        `${w} ${t} answer`,
      ]).flat();
      assert.deepEqual(
        stored.filter((s) => s.startsWith(`${w} `)),
        wanted,
      );
    }
    await tailing;
    assert.deepEqual(tailed, stored);
  });
}

test("a reply that is lost: an append is sent again under its ids, a pop is not", async (t) => {
  const proxy = await Proxy.start(cluster.addrs[0]!);
  t.after(() => proxy.stop());
  const c = cluster.client({ addrs: [proxy.addr] });
  const chat = c.session("lost");

  proxy.lose("TURN.APPEND", 2);
  const turn = await chat.append([{ data: "1" }, { data: "2" }]);
  assert.equal(proxy.seen.get("TURN.APPEND"), 3);
  assert.deepEqual([turn.duplicate, turn.count], [true, 2]);

  proxy.lose("TURN.POP");
  await assert.rejects(
    chat.pop(),
    (err) => TurnlogError.is(err, "UNKNOWN_OUTCOME") && err.outcome === "unknown",
  );
  assert.equal(proxy.seen.get("TURN.POP"), 1);

  proxy.lose("TURN.REPLACE");
  await assert.rejects(chat.replace(2, []), (err) => TurnlogError.is(err, "UNKNOWN_OUTCOME"));
  proxy.lose("TURN.READ", 2);
  assert.deepEqual(
    (await chat.read()).messages.map((m) => m.text),
    ["1"],
  );
});

test("a node that no longer answers is given up, and the append goes to another one", async () => {
  const c = cluster.client({ stallTimeout: 500, addrs: cluster.addrs });
  const chat = c.session("paused");
  await chat.append({ data: "1" });
  cluster.pause(0); // the first address, which the client uses
  try {
    await chat.append({ data: "2" });
  } finally {
    cluster.resume(0);
  }
  assert.deepEqual(
    (await chat.read()).messages.map((m) => m.text),
    ["1", "2"],
  );
});

test("a write whose time is over is of unknown outcome", async () => {
  const c = cluster.client({ addrs: [cluster.addrs[1]!] });
  const chat = c.session("timeout");
  await chat.append({ data: "1" });
  cluster.pause(1);
  try {
    await assert.rejects(chat.append({ id: "mine", data: "2" }, { timeout: 300 }), (err) => {
      assert.ok(TurnlogError.is(err, "UNKNOWN_OUTCOME"), String(err));
      assert.equal((err.cause as Error).name, "TimeoutError");
      return true;
    });
  } finally {
    cluster.resume(1);
  }
  await chat.append({ id: "mine", data: "2" });
  assert.deepEqual(
    (await chat.read()).messages.map((m) => m.text),
    ["1", "2"],
  );
});

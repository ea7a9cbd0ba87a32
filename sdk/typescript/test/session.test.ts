import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client, Message, TurnlogError, type ErrorKind, type ReadOptions } from "turnlog";
import { Cluster } from "./cluster.js";
import { Proxy } from "./proxy.js";

let cluster: Cluster;
let client: Client;
before(async () => {
  cluster = await Cluster.start(3);
  client = cluster.client();
});
after(() => cluster.stop());

/** Expects an error of that kind, and that it says that nothing took place. */
function refused(kind: ErrorKind, revision?: number) {
  return (err: unknown): true => {
    assert.ok(TurnlogError.is(err, kind), `${kind} expected: ${String(err)}`);
    assert.equal(err.outcome, "not_applied");
    if (revision !== undefined) assert.equal(err.revision, revision);
    return true;
  };
}

const texts = (messages: { text: string }[]): string[] => messages.map((m) => m.text);

test("a turn is appended as a whole, and read back", async () => {
  const chat = client.session("whole");
  const turn = await chat.append([
    { data: "hi" },
    { id: "answer", data: { role: "assistant", content: "hello 👩‍👩‍👧" } },
  ]);
  assert.deepEqual([turn.firstSeq, turn.lastSeq, turn.count, turn.duplicate], [1, 2, 2, false]);
  const { messages, revision, more, lastSeq } = await chat.last(10);
  assert.deepEqual(texts(messages), ["hi", '{"role":"assistant","content":"hello 👩‍👩‍👧"}']);
  assert.deepEqual(messages[1]!.json(), { role: "assistant", content: "hello 👩‍👩‍👧" });
  assert.deepEqual(
    [messages[1]!.seq, messages[1]!.id, more, lastSeq, revision],
    [2, "answer", false, 2, turn.revision],
  );
  assert.ok(messages[0]!.time > 1.7e12 && messages[0]!.id.length === 32);
});

test("all() never goes on with the messages of another session", async () => {
  for (const again of [0, 1100]) {
    const chat = client.session(`all-${String(again)}`);
    const fill = (n: number, data: string) => chat.append(Array.from({ length: n }, () => ({ data })));
    await fill(522, "first");
    const seen: string[] = [];
    const read = async (): Promise<void> => {
      for await (const m of chat.all()) {
        if (seen.push(m.text) < 512) continue;
        await chat.delete();
        if (again > 0) await Promise.all([fill(again / 2, "second"), fill(again / 2, "second")]);
      }
    };
    await assert.rejects(read(), refused("CONFLICT", again > 0 ? undefined : 0));
    assert.deepEqual(seen, new Array<string>(512).fill("first"));
  }
});

test("bytes come back as they were, and text that has no bytes is refused", async () => {
  const chat = client.session(new Uint8Array([0, 255, 13, 10]));
  const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
  const all = [bytes, new Uint8Array(), new Uint8Array(1 << 20).fill(13), "", "\u0000\r\n$5\r\n"];
  await chat.append(all.map((data) => ({ data })));
  const { messages } = await chat.read();
  assert.deepEqual(
    messages.map((m) => Buffer.from(m.data)),
    all.map((d) => Buffer.from(d as string)),
  );
  await assert.rejects(chat.append({ data: "half of \ud83d" }), refused("INVALID"));
  assert.throws(() => client.session("\udc00"), refused("INVALID"));
  await assert.rejects(chat.append({ data: undefined as never }), refused("INVALID"));
});

test("bytes that the caller changes after the call are sent as they were", async () => {
  const chat = client.session("changed");
  const data = Buffer.from("before");
  const appending = chat.append({ data });
  data.fill("x");
  await appending;
  assert.deepEqual(texts((await chat.read()).messages), ["before"]);
});

test("the same ids are stored once; another payload under them is refused", async () => {
  const chat = client.session("ids");
  const turn = [
    { id: "a", data: "1" },
    { id: "b", data: "2" },
  ];
  const first = await chat.append(turn);
  await chat.append({ data: "3" });
  const again = await chat.append(turn);
  assert.deepEqual(again, { ...first, count: again.count, duplicate: true });
  await assert.rejects(
    chat.append([
      { id: "a", data: "other" },
      { id: "b", data: "2" },
    ]),
    refused("ID_REUSED"),
  );
  await assert.rejects(
    chat.append([
      { id: "b", data: "2" },
      { id: "c", data: "4" },
    ]),
    refused("CONFLICT"),
  );
  assert.deepEqual(texts((await chat.read()).messages), ["1", "2", "3"]);
});

test("two workers that read the same history find out about each other", async () => {
  const chat = client.session("conflict");
  await chat.append({ data: "question" }, { expect: 0 });
  const { revision } = await chat.last(1);
  const won = await chat.append({ data: "answer of A" }, { expect: revision });
  await assert.rejects(
    chat.append({ data: "answer of B" }, { expect: revision }),
    refused("CONFLICT", won.revision),
  );
  await assert.rejects(chat.clear({ expect: revision }), refused("CONFLICT", won.revision));
  await assert.rejects(
    client.session("conflict-new").append({ data: "x" }, { expect: 7 }),
    refused("CONFLICT", 0),
  );
  assert.deepEqual(texts((await chat.read()).messages), ["question", "answer of A"]);
});

test("reads select by position, number and size", async () => {
  const chat = client.session("reads");
  await chat.append(Array.from({ length: 10 }, (_, i) => ({ data: `message ${i + 1}` })));
  const seqs = async (o: Parameters<typeof chat.read>[0]): Promise<unknown[]> => {
    const h = await chat.read(o);
    return [h.messages.map((m) => m.seq), h.more];
  };
  assert.deepEqual(await seqs({ last: 2 }), [[9, 10], true]);
  assert.deepEqual(await seqs({ after: 3, limit: 2 }), [[4, 5], true]);
  assert.deepEqual(await seqs({ after: 10 }), [[], false]);
  assert.deepEqual(await seqs({ before: 3 }), [[1, 2], false]);
  assert.deepEqual(await seqs({ before: 9, limit: 2 }), [[7, 8], true]);
  assert.deepEqual(await seqs({ last: 10, maxBytes: 19 }), [[9, 10], true]);
  assert.deepEqual(await seqs({ last: 3, consistency: { bounded: 60_000 } }), [[8, 9, 10], true]);
  const all = [];
  for await (const m of chat.all(5)) all.push(m.seq);
  assert.deepEqual(all, [6, 7, 8, 9, 10]);
  assert.deepEqual(await client.session("no such").read(), {
    messages: [],
    revision: 0,
    incarnation: 0,
    firstSeq: 0,
    lastSeq: 0,
    count: 0,
    more: false,
  });
});

test("messages are replaced, popped, trimmed and cleared", async () => {
  const chat = client.session("edits");
  await chat.append(["1", "2", "3", "4", "5", "6"].map((data) => ({ data })));
  const r = await chat.replace(5, [{ data: "five" }]);
  assert.deepEqual([r.removed, r.firstSeq], [2, 7]);
  assert.deepEqual(texts((await chat.pop()).messages), ["five"]);
  assert.deepEqual(texts((await chat.pop(2, { from: "head" })).messages), ["1", "2"]);
  assert.equal((await chat.trim({ before: 4 })).removed, 1);
  assert.equal((await chat.replace(4, [])).removed, 1);
  await chat.append(["7", "8", "9"].map((data) => ({ data })));
  assert.equal((await chat.trim({ keep: 2 })).removed, 1);
  assert.deepEqual(texts((await chat.read()).messages), ["8", "9"]);
  assert.equal((await chat.clear()).removed, 2);
  assert.deepEqual((await chat.pop()).messages, []);
  assert.equal((await chat.append({ data: "next" })).firstSeq, 11);
  await assert.rejects(client.session("edits-none").replace(1, [{ data: "x" }]), refused("NOT_FOUND"));
});

test("a session is forked, described, given a deadline and deleted", async () => {
  const chat = client.session("life");
  await assert.rejects(chat.info(), refused("NOT_FOUND"));
  await chat.append([{ data: "1" }, { data: "2" }]);
  const revision = await chat.setMetadata({ user: "7", __proto__x: "y", expect: "z" });
  assert.deepEqual({ ...(await chat.metadata()) }, { user: "7", __proto__x: "y", expect: "z" });
  await chat.setMetadata({}, { unset: ["__proto__x", "expect"], expect: revision });
  assert.equal((await chat.fork("life-2", { at: 1 })).count, 1);
  await assert.rejects(chat.fork("life-2"), refused("EXISTS"));
  assert.deepEqual({ ...(await client.session("life-2").metadata()) }, { user: "7" });

  assert.equal(await chat.expire(3_600_000, { slide: true }), true);
  const info = await chat.info();
  assert.deepEqual([info.key, info.count, info.slideMs, info.metadata.user], ["life", 2, 3_600_000, "7"]);
  assert.ok(info.expiresAt > info.updated);
  assert.equal(await chat.persist(), true);
  assert.equal(await chat.persist(), false);
  assert.equal((await chat.info()).expiresAt, 0);
  await chat.append({ data: "3" }, { ttl: 1800_000 });
  assert.ok((await chat.info()).expiresAt > 0);
  assert.equal(await chat.delete(), true);
  assert.equal(await chat.delete(), false);
  assert.equal(await chat.expireAt(new Date("2100-01-01")), false);
});

test("a session is renamed", async () => {
  const c = cluster.client({ namespace: "typescript-rename" });
  const [a, b] = [c.session("a"), c.session("b")];
  await assert.rejects(a.rename("b"), refused("NOT_FOUND"));
  await a.append([{ data: "1" }, { data: "2" }]);
  await b.append({ data: "3" });
  await assert.rejects(a.rename("b"), refused("EXISTS"));
  assert.equal(await a.rename("b", { replace: true }), (await b.info()).revision);
  assert.equal((await b.info()).count, 2);
  await assert.rejects(a.rename("b", { replace: true }), refused("NOT_FOUND"));
});

test("a session keeps its last messages, or turns, by itself", async () => {
  const chat = cluster.client({ namespace: "typescript-retain" }).session("s");
  await chat.append(["1", "2", "3"].map((data) => ({ data })));
  assert.equal((await chat.retain({ messages: 2 })).removed, 1);
  assert.equal((await chat.append({ data: "4" })).count, 2);
  assert.equal((await chat.info()).retainMessages, 2);
  await chat.retain({ turns: 1 });
  assert.equal((await chat.append([{ data: "5" }, { data: "6" }])).count, 2);
  assert.equal((await chat.info()).retainTurns, 1);
  await chat.retain("all");
  assert.equal((await chat.info()).retainTurns, 0);
});

test("sessions are listed by labels, the one that changed last first", async () => {
  const c = cluster.client({ namespace: "typescript-labels" });
  for (const k of ["a", "b", "c"]) {
    await c.session(k).append({ data: k }, { metadata: { "label.user": "u1", "label.key": k } });
  }
  await c.session("b").append({ data: "more" });
  const keys = async (labels: Record<string, string>): Promise<string[]> => {
    const out = [];
    for await (const s of c.sessions("", { labels })) out.push(s.key);
    return out;
  };
  assert.deepEqual(await keys({ user: "u1" }), ["b", "c", "a"]);
  assert.deepEqual(await keys({ user: "u1", key: "a" }), ["a"]);
  const page = await c.sessionsPage("", { labels: { user: "u1" }, limit: 1 });
  assert.deepEqual(
    (await c.sessionsPage("", { labels: { user: "u1" }, cursor: page.cursor })).sessions.map((s) => s.key),
    ["c", "a"],
  );
});

test("sessions are listed and erased within their namespace", async () => {
  const here = cluster.client({ namespace: "typescript-list" });
  const there = cluster.client({ namespace: "typescript-other" });
  for (const c of [here, there]) for (const k of ["a:1", "a:2", "b:1"]) await c.session(k).append({ data: k });
  const keys = async (prefix?: string): Promise<string[]> => {
    const out = [];
    for await (const s of here.sessions(prefix)) out.push(s.key);
    return out;
  };
  assert.deepEqual(await keys("a:"), ["a:1", "a:2"]);
  const page = await here.sessionsPage("", { limit: 2 });
  assert.deepEqual(
    (await here.sessionsPage("", { cursor: page.cursor })).sessions.map((s) => s.key),
    ["b:1"],
  );
  await assert.rejects(here.erase(""), refused("INVALID"));
  assert.equal(await here.erase("a:"), 2);
  assert.deepEqual(await keys(), ["b:1"]);
  assert.equal(await here.eraseAll(), 1);
  assert.equal((await there.session("a:1").read()).count, 1);
});

test("a hundred calls at once share a few connections, and all take place", async () => {
  const chat = client.session("parallel");
  await Promise.all(
    Array.from({ length: 100 }, (_, i) => chat.append([{ data: `q ${i}` }, { data: `a ${i}` }])),
  );
  const { messages } = await chat.read();
  assert.equal(messages.length, 200);
  for (let i = 0; i < 200; i += 2)
    assert.equal(messages[i]!.text.slice(2), messages[i + 1]!.text.slice(2), "a torn turn");
});

test("small writes go together over one connection, and a large one makes the client open another", async () => {
  const proxy = await Proxy.start(cluster.addrs[0]!);
  const c = new Client({ addrs: proxy.addr, followLeader: false });
  try {
    const chat = c.session("together");
    await chat.append({ data: "the connection is there" });
    for (let turn = 0; turn < 3; turn++)
      await Promise.all(Array.from({ length: 32 }, (_, i) => chat.append({ data: `${i}` })));
    assert.equal(proxy.accepted, 1);
    const large = (): Promise<unknown> => chat.append({ data: "y".repeat(1 << 20) });
    for (let i = 0; i < 20 && proxy.accepted < 2; i++)
      await Promise.all([large(), chat.append({ data: "small" })]);
    assert.equal(proxy.accepted, 2);
  } finally {
    await c.close();
    proxy.stop();
  }
});

test("requests beyond the bytes in flight wait", async () => {
  const c = cluster.client({ maxInFlightBytes: 4_000 });
  const chat = c.session("bounded");
  await Promise.all(Array.from({ length: 30 }, (_, i) => chat.append({ data: String(i).padStart(1000, "0") })));
  assert.equal((await chat.read()).count, 30);
  const big = Array.from({ length: 5 }, () => chat.append({ data: "y".repeat(3000) }));
  await assert.rejects(chat.append({ data: "late" }, { timeout: 0 }), refused("UNAVAILABLE"));
  await Promise.all(big);
  assert.equal((await chat.read()).count, 35);
});

test("a tail yields each message once, through delete and creation, and ends when it is told to", async () => {
  const chat = client.session("tail");
  await chat.append([{ data: "1" }, { data: "2" }]);
  const stop = new AbortController();
  const got: string[] = [];
  const ended = assert.rejects(
    async () => {
      for await (const m of chat.tail(1, { signal: stop.signal })) {
        got.push(`${m.seq} ${m.text}`);
        if (m.text === "2") await chat.append({ data: "3" });
        if (m.text === "3") {
          await chat.delete();
          await chat.append({ data: "new" });
        }
        if (m.text === "new") stop.abort(new Error("enough"));
      }
    },
    (err) => TurnlogError.is(err) && (err.cause as Error).message === "enough",
  );
  await ended;
  assert.deepEqual(got, ["2 2", "3 3", "1 new"]);
});

test("a call ends with its signal or timeout, and says whether it took place", async () => {
  const chat = client.session("ends");
  const aborted = AbortSignal.abort(new Error("not wanted"));
  await assert.rejects(
    chat.read({ signal: aborted }),
    (err) => TurnlogError.is(err) && (err.cause as Error).message === "not wanted",
  );
  const nowhere = cluster.client({ addrs: "127.0.0.1:1" });
  await assert.rejects(nowhere.session("x").append({ data: "x" }, { timeout: 200 }), (err) => {
    refused("UNAVAILABLE")(err);
    assert.equal(((err as Error).cause as Error).name, "TimeoutError");
    return true;
  });
  const closed = cluster.client();
  await closed.close();
  await assert.rejects(closed.session("x").read(), refused("UNAVAILABLE"));
});

test("errors of the server are told apart", async () => {
  await assert.rejects(client.session("k".repeat(513)).append({ data: "x" }), refused("TOO_LARGE"));
  await assert.rejects(client.session("big").append({ data: "x".repeat((8 << 20) + 1) }), refused("TOO_LARGE"));
  await assert.rejects(client.session("none").append([]), refused("INVALID"));
  assert.throws(() => cluster.client({ addrs: [] }), refused("INVALID"));
  assert.throws(() => cluster.client({ addrs: "localhost" }), refused("INVALID"));
  assert.throws(() => cluster.client({ username: "a" }), refused("INVALID"));
});

test("one message is edited, and one removed; a retry of the append undoes neither", async () => {
  const chat = client.session("edited");
  const turn = [
    { id: "a", data: "one" },
    { id: "b", data: "two" },
    { id: "c", data: "three" },
  ];
  const done = await chat.append(turn);
  const edited = await chat.edit({ id: "b" }, { n: 2 });
  assert.deepEqual([edited.seq, edited.count], [2, 3]);
  assert.ok(edited.revision > done.revision);
  assert.equal((await chat.edit({ seq: 2 }, '{"n":2}')).revision, edited.revision);
  assert.equal((await chat.remove({ seq: 1 }, { expect: edited.revision })).removed, 1);
  assert.equal((await chat.remove({ id: "a" })).removed, 0);
  assert.equal((await chat.append(turn)).duplicate, true);
  const { messages } = await chat.last(9);
  assert.deepEqual(
    messages.map((m) => [m.seq, m.id, m.text]),
    [
      [2, "b", '{"n":2}'],
      [3, "c", "three"],
    ],
  );
  await assert.rejects(chat.edit({ seq: 3 }, "late", { expect: done.revision }), refused("CONFLICT"));
  await assert.rejects(chat.edit({ id: "a" }, "gone"), refused("NOT_FOUND"));
});

test("an append changes metadata with its messages, and can demand a session", async () => {
  const chat = client.session("annotated");
  await assert.rejects(chat.append({ data: "x" }, { mustExist: true }), refused("NOT_FOUND"));
  await chat.append({ data: "x" }, { metadata: { title: "Order 7", state: "open" } });
  await chat.append({ data: "y" }, { mustExist: true, metadata: { title: "Order 8" }, unset: ["state"] });
  assert.deepEqual({ ...(await chat.metadata()) }, { title: "Order 8" });
});

test("a read by number keeps a tool call and its results together, if asked", async () => {
  const chat = client.session("whole reads");
  await chat.append([
    { data: { role: "user", content: "weather?" } },
    { data: { role: "assistant", tool_calls: [{ id: "a" }] } },
    { data: { role: "tool", tool_call_id: "a" } },
    { data: { role: "assistant", content: "rain" } },
  ]);
  const seqs = async (options: object): Promise<number[]> =>
    (await chat.read({ last: 2, ...options })).messages.map((m) => m.seq);
  assert.deepEqual(await seqs({}), [3, 4]);
  assert.deepEqual(await seqs({ whole: true }), [4]);
  assert.deepEqual(await seqs({ whole: true, last: 3 }), [2, 3, 4]);
});

test("messages are read by time", async () => {
  const chat = client.session("times");
  const times: number[] = [];
  for (const data of ["a", "b", "c"]) {
    let time: number;
    for (;;) {
      await chat.append({ data });
      time = (await chat.last(1)).messages[0]!.time;
      if (times.length === 0 || time > times.at(-1)!) break; // by the clock of the cluster
      await chat.pop();
    }
    times.push(time);
  }
  assert.ok(times[0]! < times[1]! && times[1]! < times[2]!, `times ${times.join(" ")}`);
  assert.deepEqual(texts((await chat.read({ since: times[1]! })).messages), ["b", "c"]);
  assert.deepEqual(texts((await chat.read({ until: new Date(times[1]!) })).messages), ["a"]);
  assert.deepEqual(texts((await chat.read({ since: times[0]!, until: times[2]!, last: 1 })).messages), ["b"]);
});

test("a node that lags is taken neither for the end of a session nor for its deletion", async (t) => {
  const chat = client.session("lags");
  const page = (incarnation: number, lastSeq: number, seqs: number[], more: boolean) => {
    const messages = seqs.map((seq) => new Message(seq, 1, "", Buffer.from("x")));
    return { messages, revision: 9, incarnation, firstSeq: 1, lastSeq, count: 3, more };
  };
  for (const lagging of [page(0, 0, [], false), page(4, 90, [61], true), page(5, 1, [], false)]) {
    let reads = 0;
    t.mock.method(chat, "read", async ({ consistency }: ReadOptions) => {
      if (reads++ === 0) return page(5, 3, [1, 2], true);
      return consistency === "stale" ? lagging : page(5, 3, [3], false);
    });
    const seqs: number[] = [];
    for await (const m of chat.all(0, { consistency: "stale" })) seqs.push(m.seq);
    assert.deepEqual(seqs, [1, 2, 3]);
  }
});

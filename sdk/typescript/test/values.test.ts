import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { runInNewContext } from "node:vm";
import { Client, TurnlogError, type Config, type Data } from "turnlog";
import { Cluster } from "./cluster.js";

// What programs pass, by mistake or from another realm, also those without types.
let cluster: Cluster;
before(async () => (cluster = await Cluster.start(1)));
after(() => cluster.stop());

const is = (kind: "INVALID", what: RegExp) => (err: unknown) => {
  assert.ok(TurnlogError.is(err, kind), String(err));
  assert.equal(err.outcome, "not_applied");
  assert.match(err.message, what);
  return true;
};

test("bytes are stored as they are, in whatever they come", async () => {
  const chat = cluster.client().session("bytes");
  const bytes = new Uint8Array([0, 1, 0xfe, 0xff]);
  const other = runInNewContext("new Uint8Array([0, 1, 0xfe, 0xff])") as Uint8Array;
  const inner = new Uint8Array([9, ...bytes, 9]).subarray(1, 5);
  for (const data of [bytes, Buffer.from(bytes), bytes.buffer, new DataView(bytes.buffer), other, inner]) {
    await chat.append({ data });
    const [m] = (await chat.last(1)).messages;
    assert.deepEqual(new Uint8Array(m!.data), bytes);
  }
});

test("what the caller changes after the call does not change what is sent", async () => {
  const client = cluster.client();
  const [chat, bytes, id, object] = [
    client.session("changed"),
    Buffer.from("bytes"),
    Buffer.from("id"),
    { a: 1 },
  ];
  const turn = [{ data: bytes }, { data: object }, { id: id as unknown as string, data: "named" }];
  const sent = chat.append(turn);
  const transaction = client.transaction().append("changed", { data: bytes });
  bytes.fill(0);
  id.fill(0);
  object.a = 2;
  turn.pop();
  await sent;
  await transaction.commit();
  const { messages } = await chat.read();
  assert.deepEqual(
    messages.map((m) => m.text),
    ["bytes", '{"a":1}', "named", "bytes"],
  );
  assert.equal(messages[2]!.id, "id");
});

test("an object that JSON would make empty, or cannot express, is rejected", async () => {
  const chat = cluster.client().session("objects");
  const circular: Record<string, unknown> = {};
  circular.self = circular;
  for (const [data, why] of [
    [new Map([["a", 1]]), /an object \(Map\), whose JSON would be empty/],
    [new Set([1]), /\(Set\)/],
    [new Error("boom"), /\(Error\)/],
    [Promise.resolve("an answer"), /\(Promise\)/],
    [{ n: 1n }, /no JSON \(.*BigInt/],
    [circular, /no JSON \(.*(circular|cyclic)/],
    [{ toJSON: () => undefined }, /no JSON/],
    [
      {
        toJSON() {
          throw new Error("mine");
        },
      },
      /no JSON \(mine\)/,
    ],
    [undefined, /undefined, not text/],
    [null, /null, not text/],
    [7, /number, not text/],
  ] as [Data, RegExp][]) {
    await assert.rejects(chat.append({ data }), is("INVALID", why));
    await assert.rejects(cluster.client().hash("fields").set({ a: data }), is("INVALID", why));
  }
  const foreign = runInNewContext("({})") as object;
  for (const data of [{}, Object.create(null) as object, foreign, { toJSON: () => ({}) }, { a: undefined }]) {
    await chat.append({ data });
    assert.equal((await chat.last(1)).messages[0]!.text, "{}");
  }
  assert.equal((await chat.last(1)).count, 5);
});

test(
  "arguments of another type are INVALID, and the client works after them",
  { timeout: 60_000 },
  async () => {
    const client = cluster.client();
    const chat = client.session("types");
    const any = (value: unknown) => value as never;
    for (const call of [
      () => client.session(any(7)),
      () => client.session(any(undefined)),
      () => client.session(any([65])),
      () => chat.append([]),
      () => chat.append(any(undefined)),
      () => chat.append(any("text")),
      () => chat.append({ id: any(7), data: "x" }),
      () => chat.append({ data: "x" }, { metadata: { user: any(7) } }),
      () => chat.append({ data: "x" }, { ttl: NaN }),
      () => chat.append({ data: "x" }, { timeout: NaN }),
      () => chat.append({ data: "x" }, { signal: any(new AbortController()) }),
      () => chat.setMetadata({ user: any(undefined) }),
      () => chat.setMetadata({ user: any([65, 66]) }),
      () => chat.edit(any(1), "x"),
      () => chat.edit({ id: any(1) }, "x"),
      () => chat.last(NaN),
      () => chat.last(any("5")),
      () => chat.append({ data: "x" }, { expect: any(0n) }),
      () => client.sessionsPage("", { labels: { user: any(7) } }),
      () => client.sessionsPage("", { cursor: any(7) }),
      () => client.hash("h").get([any(7)]),
      () => client.transaction(any(7)),
    ]) {
      await assert.rejects(async () => call(), is("INVALID", /nothing was sent/), String(call));
      assert.equal((await chat.last(1)).count, 0);
    }
  },
);

test("functions of the configuration that fail", async () => {
  const fails = (): never => {
    throw new Error("mine");
  };
  const ids = cluster.client({ newId: fails }).session("functions");
  await assert.rejects(ids.append({ data: "x" }), is("INVALID", /newId failed \(mine\)/));
  for (const traceparent of [fails, () => 7 as unknown as string]) {
    await cluster.client({ traceparent }).session("functions").append({ data: "stored without a trace" });
  }
});

test("a configuration that is wrong is rejected at once", () => {
  const addrs = "127.0.0.1:7379";
  for (const [config, why] of [
    [undefined, /no addresses/],
    [addrs, /no addresses/],
    [{}, /no addresses/],
    [{ addrs: [] }, /no address/],
    [{ addrs: [7379] }, /an address is number/],
    [{ addrs: "redis://:secret@127.0.0.1:7379" }, /a URL, not HOST:PORT/],
    [{ addrs, retryFor: NaN }, /retryFor is NaN/],
    [{ addrs, stallTimeout: "8000" }, /stallTimeout is 8000, not a number/],
    [{ addrs, connections: -1 }, /connections is -1/],
    [{ addrs, dialTimeout: 0 }, /dialTimeout is 0/],
    [{ addrs, stallTimeout: 0 }, /stallTimeout is 0/],
    [{ addrs, namespace: 0 }, /namespace is number, not a string/],
    [{ addrs, password: 1234 }, /password is number, not a string/],
  ] as [Config, RegExp][]) {
    assert.throws(
      () => new Client(config),
      (err) => is("INVALID", why)(err) && !/secret|1234/.test((err as Error).message),
    );
  }
});

test("times without an end are as long as a timer can be", async (t) => {
  const warnings: Error[] = [];
  const warned = (w: Error): number => warnings.push(w);
  process.on("warning", warned);
  t.after(() => process.off("warning", warned));
  const client = cluster.client({ dialTimeout: Infinity, stallTimeout: Infinity, retryFor: Infinity });
  const chat = client.session("endless");
  const tail = chat.tail();
  const next = tail.next();
  await chat.append({ data: "1" }, { timeout: Infinity });
  assert.equal((await next).value?.text, "1");
  await tail.return();
  assert.deepEqual(warnings, []);
});

test("names that objects inherit are names like others", async () => {
  const client = cluster.client();
  const named = JSON.parse('{ "__proto__": "p", "constructor": "c", "toString": "t" }') as Record<
    string,
    string
  >;
  await client.session("names").setMetadata(named);
  assert.deepEqual(Object.entries(await client.session("names").metadata()), Object.entries(named));
  await client.hash("hash").set(named);
  const fields = await client.hash("hash").all();
  assert.deepEqual(Object.keys(fields).sort(), Object.keys(named).sort());
  assert.equal(({} as Record<string, unknown>).p, undefined);
});

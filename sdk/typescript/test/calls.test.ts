import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { after, before, test, type TestContext } from "node:test";
import { TurnlogError, type Message } from "turnlog";
import { Cluster } from "./cluster.js";
import { Proxy } from "./proxy.js";

// What ends a call, a tail and a client.
let cluster: Cluster;
before(async () => (cluster = await Cluster.start(1)));
after(() => cluster.stop());

async function proxied(t: TestContext) {
  const proxy = await Proxy.start(cluster.addrs[0]!);
  t.after(() => proxy.stop());
  return { proxy, client: cluster.client({ addrs: [proxy.addr] }) };
}

const turns = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)));

test("a call whose signal has aborted before it begins sends nothing", async () => {
  const client = cluster.client();
  const chat = client.session("aborted");
  await chat.append({ data: "1" });
  for (const options of [{ signal: AbortSignal.abort() }, { timeout: 0 }]) {
    for (const call of [
      () => chat.append({ data: "2" }, options),
      () => chat.pop(1, options),
      () => chat.last(1, options),
      () => client.transaction().append("aborted", { data: "2" }).commit(options),
      () => client.erase("aborted", options),
    ]) {
      await assert.rejects(call, (err) => {
        assert.ok(TurnlogError.is(err, "UNAVAILABLE") && err.outcome === "not_applied", String(err));
        assert.match((err.cause as Error).name, /^(AbortError|TimeoutError)$/);
        return true;
      });
    }
  }
  assert.equal((await chat.last(1)).count, 1);
});

test("many calls with one signal leave no listener on it, and there is no warning", async (t) => {
  const warnings: Error[] = [];
  const warned = (w: Error): number => warnings.push(w);
  process.on("warning", warned);
  t.after(() => process.off("warning", warned));
  const stop = new AbortController();
  let listeners = 0;
  for (const name of ["addEventListener", "removeEventListener"] as const) {
    const original = stop.signal[name].bind(stop.signal) as (...args: unknown[]) => void;
    stop.signal[name] = (...args: unknown[]) => {
      listeners += name === "addEventListener" ? 1 : -1;
      original(...args);
    };
  }
  const client = cluster.client();
  const { signal } = stop;
  await Promise.all(
    Array.from({ length: 40 }, (_, i) => client.session(`s${i}`).append({ data: "x" }, { signal })),
  );
  await turns();
  assert.equal(listeners, 0);
  assert.deepEqual(warnings, []);
  const waiting = Array.from({ length: 40 }, async () => {
    for await (const m of client.session("none").tail(0, { signal })) assert.fail(m.text);
  });
  stop.abort(new Error("enough"));
  for (const tail of waiting) {
    await assert.rejects(tail, (err) => TurnlogError.is(err) && (err.cause as Error).message === "enough");
  }
  await turns();
  assert.equal(listeners, 0);
});

test("return and throw end a tail that waits for a message", async () => {
  const chat = cluster.client().session("returned");
  await chat.append({ data: "1" });
  for (const end of [
    (tail: AsyncGenerator<Message>) => tail.return(undefined),
    (tail: AsyncGenerator<Message>) => assert.rejects(tail.throw(new Error("mine")), /mine/),
  ]) {
    const tail = chat.tail();
    assert.equal((await tail.next()).value?.text, "1");
    const next = tail.next();
    await turns();
    await end(tail);
    assert.deepEqual(await next, { value: undefined, done: true });
    assert.deepEqual(await tail.next(), { value: undefined, done: true });
  }
  const unused = chat.tail();
  await unused.return();
  assert.equal((await unused.next()).done, true);
});

test("close ends tails, and calls after it say why they fail", async (t) => {
  const { proxy, client } = await proxied(t);
  const chat = client.session("closed");
  await chat.append({ data: "1" });
  const tail = chat.tail();
  await tail.next();
  const next = tail.next();
  await turns();
  const lost = assert.rejects(next, (err) => TurnlogError.is(err, "UNAVAILABLE"));
  await client.close();
  await lost;
  await assert.rejects(chat.append({ data: "2" }), (err) => {
    assert.ok(TurnlogError.is(err, "UNAVAILABLE"), String(err));
    assert.match(err.message, /the client is closed; nothing was sent/);
    return true;
  });
  while (proxy.open > 0) await once(proxy.closed, "close");
});

test("calls that were given up are in flight until they are answered, or their connection ends", async (t) => {
  const { proxy } = await proxied(t);
  const limits = { maxInFlightBytes: 100_000, stallTimeout: 500, retryFor: 0 };
  const chat = cluster.client({ addrs: [proxy.addr], ...limits }).session("given-up");
  await chat.append({ data: "1" });
  proxy.request = () => ""; // what is sent from now on arrives nowhere
  const giveUp = () => chat.append({ data: "x".repeat(40_000) }, { timeout: 20 });
  for (let i = 0; i < 2; i++) await assert.rejects(giveUp, (err) => TurnlogError.is(err, "UNKNOWN_OUTCOME"));
  await assert.rejects(giveUp, /not sent: too many requests in flight/);
  proxy.request = (data) => data;
  await chat.append({ data: "x".repeat(100_000) }, { timeout: 5_000 });
  assert.equal((await chat.last(1)).count, 2);
});

test("close ends a connection that is ready at the same moment", { timeout: 20_000 }, async (t) => {
  const { proxy, client } = await proxied(t);
  const { removeEventListener } = EventTarget.prototype;
  let closed = 0;
  t.mock.method(EventTarget.prototype, "removeEventListener", function (this: EventTarget, ...args: never[]) {
    removeEventListener.apply(this, args as never);
    // It is ready when it waits for the client's end no more, and no call has it yet.
    if (this instanceof AbortSignal && proxy.seen.has("TURN.NS") && closed++ === 0) void client.close();
  });
  await assert.rejects(client.session("s").append({ data: "1" }), (err) => {
    assert.ok(TurnlogError.is(err, "UNAVAILABLE") && err.outcome === "not_applied", String(err));
    return /the client is closed; nothing was sent/.test(err.message);
  });
  assert.ok(closed > 0);
  while (proxy.open > 0) await once(proxy.closed, "close");
  assert.equal(proxy.seen.get("TURN.APPEND"), undefined);
});

test("why a node cannot be reached is in the error's text", async () => {
  const once = { retryFor: 0 };
  for (const [addr, why] of [
    ["127.0.0.1:1", /ECONNREFUSED/],
    ["nonexistent.invalid:7379", /ENOTFOUND|EAI_AGAIN/],
  ] as const) {
    await assert.rejects(
      cluster
        .client({ addrs: addr, ...once })
        .session("a")
        .last(1),
      (err) => {
        assert.ok(TurnlogError.is(err, "UNAVAILABLE"), String(err));
        assert.match(err.message, why);
        return true;
      },
    );
  }
});

test("the error of a call that no node could serve names all of them, and first what one answered", async (t) => {
  const { proxy } = await proxied(t);
  proxy.reply = (data) => (proxy.seen.has("TURN.READ") ? "-UNAVAILABLE no leader is known\r\n" : data);
  for (const addrs of [
    ["127.0.0.1:1", proxy.addr, "127.0.0.1:2"],
    [proxy.addr, "127.0.0.1:1", "127.0.0.1:2"],
    ["127.0.0.1:1", "127.0.0.1:2"],
  ]) {
    const read = cluster.client({ addrs, retryFor: 1_000 }).session("s").last(1);
    await assert.rejects(read, (err) => {
      assert.ok(TurnlogError.is(err, "UNAVAILABLE"), String(err));
      for (const addr of addrs) assert.ok(err.message.includes(addr), `${addr} is not named: ${err.message}`);
      const answers = addrs.includes(proxy.addr);
      assert.equal(err.message.startsWith("UNAVAILABLE: no leader is known ("), answers, err.message);
      return true;
    });
  }
});

test("a reply that came while the process was busy is no stalled connection", async () => {
  const chat = cluster.client({ stallTimeout: 200 }).session("busy");
  await chat.append([{ data: "1" }, { data: "2" }]);
  cluster.pause(0);
  const popped = chat.pop();
  await turns(); // it has left
  cluster.resume(0);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
  assert.equal((await popped).count, 1);
});

for (const [name, garbage] of [
  ["no Redis protocol", "HTTP/1.1 400 Bad Request\r\n\r\n<html></html>"],
  ["bytes", "\x00\xff\xfe garbage \r\n\r\n$-5\r\n*9999999\r\n"],
  ["replies that belong to no request", "+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n"],
  ["nothing", ""],
] as const) {
  test(`a server that answers with ${name}`, async (t) => {
    const sockets = new Set<Socket>();
    const server = createServer((s) => {
      sockets.add(s);
      s.on("error", () => {});
      s.on("data", () => s.write(garbage, "latin1"));
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    t.after(() => {
      server.close();
      for (const s of sockets) s.destroy();
    });
    const addrs = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const client = cluster.client({ addrs, retryFor: 300, dialTimeout: 200 });
    await assert.rejects(client.session("a").append({ data: "1" }), (err) => {
      assert.ok(TurnlogError.is(err), String(err));
      assert.equal(err.outcome, "not_applied", "nothing but the handshake was sent");
      return true;
    });
  });
}

test("replies that turn into garbage leave the outcome unknown, or are asked for again", async (t) => {
  const { proxy, client } = await proxied(t);
  const chat = client.session("garbage");
  await chat.append({ data: "1" });
  let times = 1;
  proxy.reply = (data) => (times-- > 0 ? "\x01 garbage\r\n" : data);
  assert.equal((await chat.append({ data: "2" })).duplicate, true);
  times = 1;
  await assert.rejects(chat.pop(), (err) => TurnlogError.is(err, "UNKNOWN_OUTCOME"));
  times = 1;
  assert.equal((await chat.last(5)).count, 1);
});

for (const tls of [false, true]) {
  test(
    `close ends what connects to a server that says nothing (TLS: ${tls})`,
    { timeout: 10_000 },
    async (t) => {
      const sockets = new Set<Socket>();
      const server = createServer((s) => {
        sockets.add(s);
        s.on("error", () => {}).on("close", () => sockets.delete(s));
        s.resume();
      });
      await once(server.listen(0, "127.0.0.1"), "listening");
      t.after(() => server.close());
      const addrs = `127.0.0.1:${(server.address() as AddressInfo).port}`;
      const client = cluster.client({ addrs, tls, dialTimeout: 3_600_000 });
      const calls = [
        client.session("a").append({ data: "1" }),
        client.session("a").tail().next(),
        client.erase("a"),
      ];
      const ended = calls.map((call) =>
        assert.rejects(
          call,
          (err) => TurnlogError.is(err, "UNAVAILABLE") && /client is closed/.test(err.message),
        ),
      );
      await once(server, "connection");
      await client.close();
      await Promise.all(ended);
      while (sockets.size > 0) await once([...sockets][0]!, "close");
    },
  );
}

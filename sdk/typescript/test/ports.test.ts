import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { test } from "node:test";
import { Reserved, first, hold, last } from "./ports.js";

test("a reserved port is given once, and no outgoing connection gets it", async (t) => {
  const all = [];
  for (const reserving of [Reserved.of(300), Reserved.row(30), Reserved.of(100)]) {
    const reserved = await reserving;
    t.after(() => reserved.release());
    all.push(...reserved.ports);
  }
  assert.equal(new Set(all).size, 430);
  assert.ok(Math.min(...all) >= first && Math.max(...all) <= last);
  const row = all.slice(300, 330);
  assert.deepEqual(
    row,
    row.map((_, i) => row[0]! + i),
  );
});

test("a port that is held or that a server has is not to be had, until it is released", async (t) => {
  const reserved = await Reserved.of(1);
  const [port] = reserved.ports;
  assert.equal(await hold(port!), undefined);
  await reserved.release();
  const server = createServer().listen(port, "127.0.0.1");
  await once(server, "listening");
  assert.equal(await hold(port!), undefined);
  await new Promise((closed) => server.close(closed));
  const held = await hold(port!);
  t.after(() => held?.close());
  assert.ok(held);
});

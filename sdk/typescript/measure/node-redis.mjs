// Measures the client beside node-redis, with the same operations on the same node:
//
//	node sdk/typescript/measure/node-redis.mjs ADDRESS [ROUNDS]
//
// An append is compared with RPUSH, and the last 20 messages with LRANGE. Both run in turns, so that what
// else the machine does slows both; the figures are medians of the rounds. Build the package first.
import { createClient } from "@redis/client";
import { Client } from "turnlog";

const [address = "127.0.0.1:7379", rounds = "5"] = process.argv.slice(2);
const seconds = 1; // each part of a round
const payload = JSON.stringify({ role: "user", content: "x".repeat(270) });
const count = 20;

/** How many calls a second n loops make. */
async function rate(n, call) {
  const end = performance.now() + 1000 * seconds;
  let calls = 0;
  const work = async (i) => {
    for (; performance.now() < end; calls++) await call(i);
  };
  await Promise.all(Array.from({ length: n }, (_, i) => work(i)));
  return calls / seconds;
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

const ours = new Client({ addrs: address, namespace: "measure" });
const theirs = createClient({ url: `redis://${address}` });
await theirs.connect();
await theirs.sendCommand(["TURN.NS", "measure"]);
await ours.eraseAll();
for (let i = 0; i < 16; i++) await ours.session(`read:${i}`).append(Array(count).fill({ data: payload }));

const operations = {
  append: [
    (i) => ours.session(`ours:${i}`).append({ data: payload }),
    (i) => theirs.rPush(`theirs:${i}`, payload),
  ],
  "last 20": [(i) => ours.session(`read:${i}`).last(count), (i) => theirs.lRange(`read:${i}`, -count, -1)],
};
console.log("| operation | loops | turnlog | node-redis | ratio |\n|---|---|---|---|---|");
for (const n of [1, 16]) {
  for (const [name, [our, their]] of Object.entries(operations)) {
    const pairs = [];
    for (let round = 0; round < Number(rounds); round++) pairs.push([await rate(n, our), await rate(n, their)]);
    const [a, b] = [0, 1].map((side) => Math.round(median(pairs.map((p) => p[side]))));
    const ratio = median(pairs.map(([x, y]) => x / y)).toFixed(2);
    console.log(`| ${name} | ${n} | ${a}/s | ${b}/s | ${ratio} |`);
  }
}
await ours.eraseAll();
await ours.close();
theirs.destroy();

// Drives LangChain.js chat histories; see test/compat/README.md for the protocol.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { HumanMessage } from "@langchain/core/messages";

const require = createRequire(import.meta.url);
const version = (name) => JSON.parse(readFileSync(require.resolve(`${name}/package.json`))).version;
const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// @langchain/redis: node-redis 4, whose client the library makes and shares. It must
// be connected before several conversations use it at once.
async function nodeRedis(config, url) {
  const { RedisChatMessageHistory } = await import("@langchain/redis");
  const shared = { url }; // the library keeps one client for each such object
  const history = (name) => new RedisChatMessageHistory({ sessionId: name, sessionTTL: 3600, config: shared });
  const first = history(config.prefix);
  first.client.on("error", () => {}); // commands report them
  await first.getMessages();
  return history;
}

// The history on ioredis of @langchain/community, on one client as the
// documentation recommends for servers.
async function ioredis(config, url) {
  const { RedisChatMessageHistory } = await import("@langchain/community/stores/message/ioredis");
  const { Redis } = await import("ioredis");
  const options = config.retry ? {} : { autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0 };
  const client = new Redis(url, options);
  client.on("error", () => {}); // commands report them
  return (name) => new RedisChatMessageHistory({ sessionId: name, sessionTTL: 3600, client });
}

const libraries = {
  "@langchain/redis": { open: nodeRedis, packages: ["@langchain/redis", "redis"] },
  "@langchain/community ioredis": { open: ioredis, packages: ["@langchain/community", "ioredis"] },
};

let stopping = false;

// One conversation after the other, one message after the other.
async function slot(config, history, number) {
  for (let round = 0; !stopping; round++) {
    const name = `${config.prefix}-${number}-${round}`;
    const conversation = history(name);
    for (let n = 0; n < config.messages && !stopping; n++) {
      await add(conversation, name, n);
      if (n % config.read_every === 0) await read(conversation, "read", name);
      await pause(config.pause_ms);
    }
  }
}

async function add(conversation, name, n) {
  const text = `${name}/${n}`, start = performance.now();
  let error = "";
  try {
    await conversation.addMessage(new HumanMessage({ content: text, id: text }));
  } catch (e) {
    error = `${e.constructor.name}: ${e.message}`;
  }
  say({ add: name, n, took: (performance.now() - start) / 1000, error });
}

async function read(conversation, kind, name) {
  try {
    const messages = await conversation.getMessages();
    say({ [kind]: name, seen: messages.map((m) => m.content) });
  } catch (e) {
    say({ [kind]: name, error: `${e.constructor.name}: ${e.message}` });
  }
}

async function main() {
  let config, library, history, slots = [];
  for await (const line of createInterface({ input: process.stdin })) {
    const command = JSON.parse(line);
    if (!config) {
      config = command;
      library = libraries[config.subject];
      history = await library.open(config, config.url);
      say({ ready: Object.fromEntries(library.packages.map((p) => [p, version(p)])) });
    } else if (command.start) {
      for (let i = 0; i < config.slots; i++) slots.push(slot(config, history, i));
    } else if (command.stop) {
      stopping = true;
      await Promise.all(slots);
      say({ done: "stop" });
    } else {
      const other = await library.open(config, command.read);
      for (const name of command.names) await read(other(name), "final", name);
      say({ done: "read" });
    }
  }
  process.exit(0);
}

// A client that reports a broken connection past the caller must not end us.
process.on("uncaughtException", (e) => say({ note: `uncaught: ${e.message}` }));
process.on("unhandledRejection", (e) => say({ note: `unhandled: ${e?.message}` }));
main();

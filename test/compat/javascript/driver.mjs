// Drives chat histories in JavaScript; see test/compat/README.md for the protocol. The first argument is the
// module that has them: libraries, by name, and require, which finds their packages. A library has packages, whose
// versions are reported, and open(config, url), which returns a function from a conversation's name to its add(text,
// id) and texts().
import { existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const { libraries, require } = await import(process.argv[2]);
// Some packages keep their package.json from being imported.
function version(name) {
  const files = require.resolve.paths(name).map((dir) => `${dir}/${name}/package.json`);
  return JSON.parse(readFileSync(files.find(existsSync))).version;
}
const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

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
    await conversation.add(text, text);
  } catch (e) {
    error = `${e.constructor.name}: ${e.message}`;
  }
  say({ add: name, n, took: (performance.now() - start) / 1000, error });
}

async function read(conversation, kind, name) {
  try {
    say({ [kind]: name, seen: await conversation.texts() });
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

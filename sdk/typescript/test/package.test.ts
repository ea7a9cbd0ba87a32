import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { Cluster, binary } from "./cluster.js";
import { Reserved } from "./ports.js";

const root = resolve(import.meta.dirname, "../..");
const dir = mkdtempSync(join(tmpdir(), "turnlog-typescript-package-"));
let cluster: Cluster;

const run = (command: string, ...args: string[]): string =>
  execFileSync(command, args, {
    cwd: dir,
    encoding: "utf8",
    env: { ...process.env, npm_config_loglevel: "error" },
  });

before(async () => {
  cluster = await Cluster.start(3);
  const packed = run("node", join(root, "pack.mjs"), dir).trim();
  writeFileSync(join(dir, "package.json"), '{ "private": true }');
  run("npm", "install", "--no-audit", "--no-fund", "--prefer-offline", packed);
});
after(async () => {
  await cluster.stop();
  rmSync(dir, { recursive: true });
});

test("the tarball holds what is needed and nothing else", () => {
  const files = run("npm", "ls", "--all", "--parseable")
    .trim()
    .split("\n")
    .slice(1)
    .map((p) => p.split("node_modules/").pop());
  assert.deepEqual(files.sort(), ["@redis/client", "turnlog"]);
  for (const f of ["README.md", "LICENSE", "dist/esm/index.js", "dist/cjs/index.js", "dist/cjs/index.d.ts"]) {
    assert.ok(existsSync(join(dir, "node_modules/turnlog", f)), f);
  }
  assert.ok(!existsSync(join(dir, "node_modules/turnlog/src")));
});

/** Checks programs against the installed package, in strict mode. */
function tsc(...args: string[]): void {
  const types = ["--typeRoots", join(root, "node_modules/@types"), "--types", "node"];
  run(join(root, "node_modules/.bin/tsc"), "--strict", "--noEmit", "--target", "es2022", ...types, ...args);
}

/** The programs of a document, with the addresses of this cluster. */
function programs(document: string): string[] {
  const fenced = /^( *)```ts\n(.*?)^\1```$/gms;
  const local = (text: string): string =>
    text.replace(/127\.0\.0\.1:73([789])9/g, (_, node: string) => cluster.addrs[Number(node) - 7]!);
  return Array.from(readFileSync(document, "utf8").matchAll(fenced), (m) =>
    local(m[2]!.replaceAll(new RegExp(`^${m[1]}`, "gm"), "")),
  );
}

/** A program as CommonJS: imports become calls of require, and the rest runs in a function. */
function commonJS(program: string): string {
  const lines = program
    .split("\n")
    .map((line) => line.replace(/^import (\{.*\}) from ("[^"]+");/, "const $1 = require($2);"));
  const body = lines.filter((l) => !l.includes("require(")).join("\n");
  return `${lines.filter((l) => l.includes("require(")).join("\n")}\n(async () => {\n${body}\n})();\n`;
}

test("the server comes with a package for this platform, and the client works without", async (t) => {
  const missing = spawnSync("npx", ["--no-install", "turnlog", "--version"], { cwd: dir, encoding: "utf8" });
  const platform = `@turnlog/server-${process.platform}-${process.arch}`;
  assert.equal(missing.status, 1);
  assert.match(missing.stderr, new RegExp(`${platform} is not installed.*npm install ${platform}@`));
  const target = `${process.platform}/${process.arch === "x64" ? "amd64" : process.arch}`;
  const packed = run("node", join(root, "../server/npm.mjs"), binary, target, dir).trim();
  const { optionalDependencies } = JSON.parse(
    readFileSync(join(dir, "node_modules/turnlog/package.json"), "utf8"),
  );
  assert.ok(basename(packed).endsWith(`-${optionalDependencies[platform]}.tgz`), packed);
  const line = /^npm install PATH-TO-TURNLOG.*$/m.exec(readFileSync(join(root, "../../README.md"), "utf8"))![0];
  const here = line.replaceAll("PATH-TO-TURNLOG/dist", dir).replace("linux-x64", platform.split("server-")[1]!);
  run("bash", "-ec", `${here} --no-audit --no-fund --prefer-offline`);
  const program = join(dir, "node_modules/.bin/turnlog");
  assert.equal(run(program, "--version"), execFileSync(binary, ["--version"], { encoding: "utf8" }));
  assert.equal(spawnSync(program, ["read", "--nonsense"], { cwd: dir }).status, 2);

  const reserved = await Reserved.row(3);
  t.after(() => reserved.release());
  const base = reserved.ports[0]!;
  const dev = spawn(program, ["dev", "--nodes", "1", "--port-base", String(base)], {
    cwd: dir,
    stdio: "ignore",
  });
  try {
    const client = cluster.client({ addrs: [`127.0.0.1:${base}`] });
    assert.equal((await client.session("first").append({ data: "hello" })).lastSeq, 1);
  } finally {
    dev.kill("SIGTERM"); // the package's program passes it on
    assert.deepEqual(await once(dev, "exit"), [0, null]);
  }
  run("npm", "uninstall", "--no-audit", "--no-fund", platform);
});

test("the frameworks of the adapters are installed beside it", () => {
  const { peerDependencies, devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const names = [...Object.keys(peerDependencies), "@langchain/langgraph"];
  const wanted = names.map((name) => `${name}@${devDependencies[name]}`);
  run("npm", "install", "--no-audit", "--no-fund", "--prefer-offline", ...wanted);
});

for (const [name, document] of [
  ["the package's README", "README.md"],
  ["the repository's README", "../../README.md"],
] as const) {
  test(`${name} runs as printed, as an ES module and in CommonJS`, async () => {
    const all = programs(join(root, document));
    assert.ok(all.length > 0);
    for (const program of all) {
      writeFileSync(join(dir, "readme.mjs"), program);
      run("node", "readme.mjs");
      const flush = cluster.client();
      await flush.eraseAll();
      writeFileSync(join(dir, "readme.cjs"), commonJS(program));
      run("node", "readme.cjs");
      await flush.eraseAll();
    }
  });
}

test("the programs of the pages are TypeScript as strict as tsc --init has it", () => {
  const pages = ["README.md", "../../README.md", "../../docs/operations/tracing.md"];
  const written = pages.flatMap((document, d) =>
    programs(join(root, document)).map((program, i) => {
      writeFileSync(join(dir, `strict${d}${i}.mts`), program);
      return `strict${d}${i}.mts`;
    }),
  );
  assert.ok(written.length > 9);
  const strict = ["--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes", "--verbatimModuleSyntax"];
  for (const [module, resolution] of [
    ["node16", "node16"],
    ["esnext", "bundler"],
  ] as const) {
    tsc("--module", module, "--moduleResolution", resolution, "--skipLibCheck", ...strict, ...written);
  }
});

test("the types are those of the package, for both kinds of modules", () => {
  const typed = `import { Client, TurnlogError, type Appended } from "turnlog";
async function main(): Promise<void> {
  const c = new Client({ addrs: "127.0.0.1:7379", tls: { ca: "x" } });
  const a: Appended = await c.session("a").append({ data: new Uint8Array() }, { signal: AbortSignal.timeout(1) });
  const n: number = a.revision;
  // @ts-expect-error: there is no such option
  await c.session("a").append({ data: "x" }, { nonsense: n });
  if (TurnlogError.is(n, "CONFLICT")) throw n;
}
void main;
`;
  for (const [file, module] of [
    ["types.mts", "nodenext"],
    ["types.cts", "nodenext"],
    ["bundled.ts", "bundler"],
  ] as const) {
    writeFileSync(join(dir, file), typed);
    const args =
      module === "nodenext"
        ? ["--module", "nodenext"]
        : ["--module", "esnext", "--moduleResolution", "bundler"];
    tsc(...args, "--exactOptionalPropertyTypes", file);
  }
});

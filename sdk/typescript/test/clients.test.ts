import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";

// docs/clients.md names what this package exports, and nothing else.

const root = resolve(import.meta.dirname, "../../../..");
const index = readFileSync(join(root, "sdk/typescript/dist/esm/index.d.ts"), "utf8");
const settings = ["CallOptions", "Config", "WriteOptions", "AppendOptions", "ReadOptions", "Labels"];
const classes = ["Client", "Session", "Hash", "Transaction"];

/** What the tables name in the column of this package. */
function named(): string[] {
  const names: string[] = [];
  let at = -1;
  for (const line of readFileSync(join(root, "docs/clients.md"), "utf8").split("\n")) {
    const cells = line.split("|").map((c) => c.trim());
    if (cells.length < 3) at = -1;
    else if (at < 0) at = cells.indexOf("TypeScript");
    else for (const m of cells[at]!.matchAll(/`([^`]+)`/g)) names.push(m[1]!);
  }
  assert.ok(names.length > 60);
  return names;
}

/** The declaration of an exported class or interface, in the module that index.d.ts takes it from. */
function declaration(name: string): string {
  const from = new RegExp(`\\b${name}\\b[^;]*? from "\\./(\\w+)\\.js"`).exec(index);
  assert.ok(from, `${name} is not exported`);
  const text = readFileSync(join(root, "sdk/typescript/dist/esm", `${from[1]}.d.ts`), "utf8");
  const found = new RegExp(`^export (?:declare class|interface) ${name}\\b[^]*?^}`, "m").exec(text);
  assert.ok(found, `${name} is not in ${from[1]}.d.ts`);
  return found[0].replace(/\/\*\*[^]*?\*\//g, "");
}

/** The members of a declaration, and of each what it is declared as. */
function members(name: string): Map<string, string> {
  const found = new Map<string, string>();
  const member = /^ {4}(?:readonly )?(\w+)\??(?=[(<:])([^;{]*(?:\{[^}]*\}[^;{]*)*);$/gm;
  for (const m of declaration(name).matchAll(member)) if (m[1] !== "constructor") found.set(m[1]!, m[2]!);
  assert.ok(found.size > 0, name);
  return found;
}

test("the page names what there is", () => {
  const names = new Set(named().map((n) => n.replace(/\(.*/, "")));
  for (const of of [...classes, ...settings]) {
    for (const member of members(of).keys()) {
      assert.ok(names.has(`${of}.${member}`), `docs/clients.md lacks ${of}.${member}`);
    }
  }
});

test("what the page names is there", () => {
  for (const name of named()) {
    const [, of, member, option] = /^(\w+)(?:\.(\w+))?(?:\(\{ (\w+) \}\))?$/.exec(name)!;
    if (member === undefined) assert.ok(declaration(of!));
    else {
      const declared = members(of!).get(member);
      assert.notEqual(declared, undefined, `there is no ${name}`);
      if (option) assert.match(declared!, new RegExp(`\\b${option}\\?:`), name);
    }
  }
});

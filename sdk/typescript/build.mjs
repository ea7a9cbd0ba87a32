// Builds dist: the package as ES modules and as CommonJS modules, each with its types.
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";

const tsc = (...args) => execFileSync("npx", ["--no-install", "tsc", ...args], { stdio: "inherit" });

rmSync("dist", { recursive: true, force: true });
tsc("-p", "tsconfig.json");
tsc("-p", "tsconfig.json", "--module", "commonjs", "--moduleResolution", "bundler", "--outDir", "dist/cjs");
writeFileSync("dist/cjs/package.json", '{ "type": "commonjs" }\n');

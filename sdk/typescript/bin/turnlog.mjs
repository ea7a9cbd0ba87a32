#!/usr/bin/env node
// Runs the turnlog of the package for this platform, @turnlog/server-OS-CPU, in this process's place.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { constants } from "node:os";

const name = `@turnlog/server-${process.platform}-${process.arch}`;
const known = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"];

function find() {
  try {
    return createRequire(import.meta.url).resolve(`${name}/bin/turnlog`);
  } catch {
    const have = known.some((platform) => name.endsWith(platform));
    const { version } = createRequire(import.meta.url)("../package.json");
    console.error(
      have
        ? `turnlog: ${name} is not installed, as without optional dependencies: npm install ${name}@${version}`
        : `turnlog: there is no server for ${process.platform} on ${process.arch}: build it from the repository`,
    );
    return process.exit(1);
  }
}

const child = spawn(find(), process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) {
  // A terminal sends its signals to the child, too; this process only waits for it.
  process.on(signal, () => (process.stdin.isTTY && signal !== "SIGTERM" ? undefined : child.kill(signal)));
}
child.on("error", (error) => {
  console.error(`turnlog: ${error.message}`);
  process.exitCode = 1;
});
child.on("exit", (code, signal) => {
  process.exitCode = signal ? 128 + constants.signals[signal] : code;
});

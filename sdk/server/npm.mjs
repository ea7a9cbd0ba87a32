// Packs a binary as the npm package @turnlog/server-OS-CPU: node npm.mjs BINARY GOOS/GOARCH DIRECTORY.
// A BINARY.cdx.json beside it becomes the package's SBOM.
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const [binary, platform, directory] = process.argv.slice(2);
const root = resolve(import.meta.dirname, "../..");
const version = readFileSync(join(root, "VERSION"), "utf8").trim();
const [os, arch] = platform.split("/");
const cpu = { amd64: "x64", arm64: "arm64" }[arch];
const name = `@turnlog/server-${os}-${cpu}`;

const stage = mkdtempSync(join(tmpdir(), "turnlog-npm-"));
try {
  mkdirSync(join(stage, "bin"));
  copyFileSync(binary, join(stage, "bin/turnlog"));
  chmodSync(join(stage, "bin/turnlog"), 0o755);
  copyFileSync(join(root, "LICENSE"), join(stage, "LICENSE"));
  if (existsSync(`${binary}.cdx.json`)) copyFileSync(`${binary}.cdx.json`, join(stage, "turnlog.cdx.json"));
  writeFileSync(
    join(stage, "README.md"),
    `The server and the command line of [turnlog](https://www.npmjs.com/package/turnlog) for ${os} on ${cpu}. ` +
      "The package `turnlog` installs it, and works without it.\n",
  );
  const manifest = {
    name,
    version,
    description: `The server of turnlog, a replicated memory for AI agents, for ${os} on ${cpu}`,
    license: "MIT",
    os: [os],
    cpu: [cpu],
    files: ["bin", "turnlog.cdx.json"],
    repository: { type: "git", url: "git+https://github.com/turnlog/turnlog.git", directory: "sdk/server" },
    preferUnplugged: true, // Yarn would leave the binary inside an archive
  };
  writeFileSync(join(stage, "package.json"), JSON.stringify(manifest, null, 2));
  const packed = execFileSync("npm", ["pack", "--silent", "--pack-destination", directory], { cwd: stage });
  console.log(join(directory, packed.toString().trim()));
} finally {
  rmSync(stage, { recursive: true });
}

// Packs the built package into a directory: node pack.mjs DIRECTORY. The packages with the server, which
// package managers choose from by platform, are named here: while one of a version is not published yet,
// package.json cannot name it, because package-lock.json could not.
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const here = import.meta.dirname;
const directory = process.argv[2];
const { devDependencies: _, scripts: __, ...manifest } = JSON.parse(readFileSync(join(here, "package.json")));
manifest.optionalDependencies = Object.fromEntries(
  ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"].map((platform) => [
    `@turnlog/server-${platform}`,
    manifest.version,
  ]),
);
const stage = mkdtempSync(join(tmpdir(), "turnlog-npm-"));
try {
  for (const file of ["README.md", "LICENSE", ...manifest.files]) {
    cpSync(join(here, file), join(stage, file), { recursive: true });
  }
  writeFileSync(join(stage, "package.json"), JSON.stringify(manifest, null, 2));
  const packed = execFileSync("npm", ["pack", "--silent", "--pack-destination", directory], { cwd: stage });
  console.log(join(directory, packed.toString().trim()));
} finally {
  rmSync(stage, { recursive: true });
}

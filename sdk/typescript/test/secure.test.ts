import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { TurnlogError, type Client } from "turnlog";
import { Cluster, binary } from "./cluster.js";

const dir = mkdtempSync(join(tmpdir(), "turnlog-typescript-tls-"));
const users = join(dir, "users.yaml");
const turnlog = (...args: string[]): string => execFileSync(binary, args, { cwd: dir, encoding: "utf8" });
let cluster: Cluster;
let password: string;

before(async () => {
  turnlog("cert", "ca");
  turnlog("cert", "node", "n1", "--host", "127.0.0.1");
  const added = JSON.parse(
    turnlog(
      ...["user", "add", "bot", "--file", users, "--right", "write", "--allow-namespace", "bots"],
      ...["--allow-prefix", "chat:", "--json"],
    ),
  ) as { password: string };
  password = added.password;
  cluster = await Cluster.start(
    ...([
      1,
      "--users-file",
      users,
      "--tls-cert",
      join(dir, "certs/n1.crt"),
      "--tls-key",
      join(dir, "certs/n1.key"),
    ] as const),
  );
});
after(async () => {
  await cluster.stop();
  rmSync(dir, { recursive: true });
});

function client(config: { password?: string; namespace?: string } = {}): Client {
  const ca = readFileSync(join(dir, "certs/ca.crt"));
  return cluster.client({ username: "bot", password, namespace: "bots", tls: { ca }, ...config });
}

test("a user works over TLS, within their namespace and prefix", async () => {
  const c = client();
  await c.session("chat:1").append({ data: "hi" });
  assert.equal((await c.session("chat:1").last(1)).messages[0]!.text, "hi");
  await assert.rejects(c.session("other").append({ data: "x" }), (err) => TurnlogError.is(err, "FORBIDDEN"));
});

test("a wrong password, and a namespace that is not allowed, are refused at once", async () => {
  const wrong = client({ password: "wrong" }).session("chat:1");
  await assert.rejects(wrong.append({ data: "x" }), (err) => TurnlogError.is(err, "UNAUTHORIZED"));
  const elsewhere = client({ namespace: "0" }).session("chat:1");
  await assert.rejects(elsewhere.append({ data: "x" }), (err) => TurnlogError.is(err, "FORBIDDEN"));
});

test("a node whose certificate is not trusted gets no password and no message", async () => {
  const c = cluster.client({ username: "bot", password, namespace: "bots", tls: true, retryFor: 0 });
  await assert.rejects(c.session("chat:1").append({ data: "x" }), (err) => {
    assert.ok(TurnlogError.is(err, "UNAVAILABLE"), String(err));
    assert.match((err.cause as Error).message, /certificate/);
    return true;
  });
});

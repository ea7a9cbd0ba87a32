import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createServer as createSecured, type TlsOptions } from "node:tls";
import { Client, TurnlogError, type Config, type ErrorKind } from "turnlog";
import { Cluster, binary } from "./cluster.js";

const dir = mkdtempSync(join(tmpdir(), "turnlog-typescript-wrong-"));
const turnlog = (...args: string[]): string => execFileSync(binary, args, { cwd: dir, encoding: "utf8" });
turnlog("cert", "ca");
turnlog("cert", "node", "here", "--host", "127.0.0.1");
turnlog("cert", "node", "elsewhere", "--host", "elsewhere.example");
const file = (name: string): Buffer => readFileSync(join(dir, "certs", name));
const ca = file("ca.crt");
const servers: Server[] = [];
after(() => {
  for (const server of servers) server.close();
  rmSync(dir, { recursive: true });
});

/** Listens, and returns its address and how many connections there were. */
async function listening(server: Server): Promise<{ addr: string; accepted: () => number }> {
  let accepted = 0;
  server.on("connection", (socket: Socket) => {
    accepted++;
    socket.on("error", () => {});
  });
  server.listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  return { addr: `127.0.0.1:${(server.address() as AddressInfo).port}`, accepted: () => accepted };
}

/** Answers what comes first with a text, and ends. */
function says(text: string): Server {
  return createServer((socket) => socket.once("data", () => socket.end(text)));
}

function secured(node: string, more: TlsOptions = {}): Server {
  const server = createSecured({ cert: file(`${node}.crt`), key: file(`${node}.key`), ...more });
  server.on("tlsClientError", () => {});
  server.on("secureConnection", (socket) => socket.on("error", () => {}));
  return server;
}

const cases: [name: string, server: () => Server, tls: Config["tls"], kind: ErrorKind, text: RegExp][] = [
  ["an unknown authority", () => secured("here"), true, "UNAVAILABLE", /trust the authority/],
  ["another host", () => secured("elsewhere"), { ca }, "UNAVAILABLE", /connect by a name/],
  ["no TLS", () => says("-ERR Protocol error\r\n"), { ca }, "UNAVAILABLE", /does not take TLS/],
  [
    "TLS only",
    () => says("-ERR this port takes TLS only\r\n"),
    undefined,
    "INVALID",
    /this port takes TLS only/,
  ],
  ["HTTP", () => says("HTTP/1.1 400 Bad Request\r\n\r\n"), undefined, "UNAVAILABLE", /no port for Redis/],
  ["no user", () => says("-NOAUTH HELLO must be called\r\n"), undefined, "UNAUTHORIZED", /neither a user nor/],
];

for (const [name, server, tls, kind, text] of cases) {
  test(`${name} is an error at once, which says what to do`, { timeout: 60_000 }, async () => {
    const { addr, accepted } = await listening(server());
    await using client = new Client({ addrs: addr, tls, retryFor: 300_000 });
    const wanted = (err: unknown): boolean => {
      assert.ok(TurnlogError.is(err, kind), String(err));
      assert.match(err.message, text);
      assert.equal(err.outcome, "not_applied");
      return true;
    };
    await assert.rejects(client.session("s").append({ data: "x" }), wanted);
    await assert.rejects(client.session("s").tail(0).next(), wanted);
    assert.equal(accepted(), 2);
  });
}

test("a node that is configured wrongly costs nothing as long as another works", async (t) => {
  const wrong = await listening(says("-ERR this port takes TLS only\r\n"));
  const cluster = await Cluster.start(1);
  t.after(() => cluster.stop());
  await cluster.client().cluster(); // it has started
  const client = cluster.client({ addrs: [wrong.addr, ...cluster.addrs] });
  await client.session("s").append({ data: "x" });
  assert.equal(wrong.accepted(), 1);
  const unnamed = { namespace: "x".repeat(1_000), retryFor: 300_000 };
  await assert.rejects(
    cluster
      .client({ addrs: [...cluster.addrs, "127.0.0.1:1"], ...unnamed })
      .session("s")
      .last(1),
    (err) => TurnlogError.is(err, "INVALID"), // everywhere, so that no other node is waited for
  );
  await cluster.kill(0);
  const both = new Client({ addrs: [wrong.addr, ...cluster.addrs], retryFor: 1_000 });
  await assert.rejects(both.session("s").last(1));
  assert.ok(wrong.accepted() > 2, "it is tried again while another node may come back");
  await both.close();
});

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Client, type Config } from "turnlog";
import { Reserved } from "./ports.js";

export const binary = process.env.TURNLOG ?? resolve(import.meta.dirname, "../../../../bin/turnlog");

/** A cluster of real nodes, each a process of the built binary. */
export class Cluster {
  readonly addrs: string[] = [];
  readonly #dir = mkdtempSync(join(tmpdir(), "turnlog-typescript-"));
  readonly #flags: string[][] = [];
  readonly #nodes: ChildProcess[] = [];
  readonly #clients: Client[] = [];
  #reserved = new Reserved();

  /** Starts n nodes and waits until they serve. */
  static async start(n = 3, ...flags: string[]): Promise<Cluster> {
    const c = new Cluster();
    c.#reserved = await Reserved.of(3 * n);
    const { ports } = c.#reserved;
    const peers = Array.from({ length: n }, (_, i) => `n${i + 1}=127.0.0.1:${ports[3 * i + 2]}`).join(",");
    for (let i = 0; i < n; i++) {
      const [resp, http, raft] = ports.slice(3 * i).map((p) => `127.0.0.1:${p}`);
      c.addrs.push(resp!);
      c.#flags.push([
        ...["serve", "--node-id", `n${i + 1}`, "--data-dir", join(c.#dir, `n${i + 1}`)],
        ...[
          "--resp-addr",
          resp!,
          "--http-addr",
          http!,
          "--raft-addr",
          raft!,
          "--initial-cluster",
          peers,
          ...flags,
        ],
      ]);
      c.startNode(i);
    }
    return c;
  }

  startNode(i: number): void {
    const log = openSync(join(this.#dir, `n${i + 1}.log`), "a");
    this.#nodes[i] = spawn(binary, this.#flags[i]!, { stdio: ["ignore", log, log] });
  }

  /** Ends a node with SIGKILL, and waits until it has ended. */
  async kill(i: number): Promise<void> {
    const node = this.#nodes[i]!;
    if (node.exitCode !== null || node.signalCode !== null) return;
    this.#signal(i, "SIGKILL");
    await once(node, "exit");
  }

  /** Stops a node's process without ending it, and returns when it does nothing any more. */
  pause(i: number): void {
    this.#signal(i, "SIGSTOP");
    const tasks = `/proc/${this.#nodes[i]!.pid!}/task`;
    const runs = (task: string) => !/\) T /.test(readFileSync(`${tasks}/${task}/stat`, "utf8"));
    const limit = Date.now() + 5_000;
    while (existsSync(tasks) && readdirSync(tasks).some(runs)) {
      if (Date.now() > limit) throw new Error(`node ${i} does not stop`);
    }
  }

  resume(i: number): void {
    this.#signal(i, "SIGCONT");
  }

  /** Not ChildProcess.kill: Deno's sends a child one signal only, and drops those that follow. */
  #signal(i: number, signal: NodeJS.Signals): void {
    process.kill(this.#nodes[i]!.pid!, signal);
  }

  /** Returns the index of the leader. */
  async leader(client: Client): Promise<number> {
    for (;;) {
      const { leader, nodes } = await client.cluster();
      const addr = nodes.find((n) => n.id === leader)?.resp_addr;
      if (addr) return this.addrs.indexOf(addr);
      await new Promise((r) => setTimeout(r, 20));
    }
  }

  /** Returns a client that ends with the cluster; starting up takes as long as it takes. */
  client(config: Partial<Config> = {}): Client {
    const c = new Client({ addrs: this.addrs, retryFor: 60_000, ...config });
    this.#clients.push(c);
    return c;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#clients.map((c) => c.close()));
    await Promise.all(this.#nodes.map((_, i) => this.kill(i)));
    await this.#reserved.release();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

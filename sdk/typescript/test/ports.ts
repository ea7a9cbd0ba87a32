/** Ports for servers that tests start, held in the same way as those of tests in Go: see internal/ports. */
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { connect } from "node:net";

// Below the ports that systems give to outgoing connections.
export const first = 10_000;
export const last = 31_999;

/** Ports of loopback on which nothing listens, and which no other test gets before they are released. */
export class Reserved {
  readonly ports: number[] = [];
  readonly #held: Socket[] = [];

  static async of(n: number): Promise<Reserved> {
    const r = new Reserved();
    await r.#find(n, 1);
    return r;
  }

  /** Ports of which each is one more than the last. */
  static async row(n: number): Promise<Reserved> {
    const r = new Reserved();
    await r.#find(1, n);
    return r;
  }

  async #find(rows: number, width: number): Promise<void> {
    for (let tries = 0; this.ports.length < rows * width; tries++) {
      if (tries === 1000) throw new Error(`no ${rows * width} free ports were found`);
      const start = first + Math.floor(Math.random() * (last - first + 2 - width));
      const row = Array.from({ length: width }, (_, i) => start + i);
      const held = await Promise.all(row.map(hold));
      if (held.every((socket) => socket !== undefined)) {
        this.ports.push(...row);
        this.#held.push(...held);
      } else {
        await release(held);
      }
    }
  }

  async release(): Promise<void> {
    await release(this.#held.splice(0));
  }
}

/** A socket that holds a port, also while the server that it is for is down; none if the port is taken. */
export async function hold(port: number): Promise<Socket | undefined> {
  const socket = createSocket("udp4").unref();
  try {
    socket.bind({ port, address: "127.0.0.1", exclusive: true });
    await once(socket, "listening");
  } catch {
    socket.close();
    return undefined;
  }
  const asking = connect(port, "127.0.0.1");
  const free = await once(asking, "connect").then(
    () => false,
    () => true,
  );
  asking.destroy();
  if (free) return socket;
  await release([socket]);
  return undefined;
}

async function release(held: (Socket | undefined)[]): Promise<void> {
  await Promise.all(held.map((socket) => socket && new Promise<void>((closed) => socket.close(closed))));
}

import { EventEmitter, once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

/** A proxy in front of a node that can lose replies: the request arrives, and the connection breaks instead. */
export class Proxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #lose: { command: string; times: number } | undefined;
  /** What becomes of bytes on their way. */
  request = (data: string): string => data;
  reply = (data: string): string => data;
  /** How often each command was seen. */
  readonly seen = new Map<string, number>();
  /** How many connections were accepted. */
  accepted = 0;
  /** Emits `close` when a connection has ended. */
  readonly closed = new EventEmitter();

  private constructor(target: string) {
    const [host, port] = target.split(":");
    this.#server = createServer((client) => this.#serve(client, connect(Number(port), host)));
  }

  static async start(target: string): Promise<Proxy> {
    const p = new Proxy(target);
    p.#server.listen(0, "127.0.0.1");
    await once(p.#server, "listening");
    return p;
  }

  get addr(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** How many connections there are, counted on both of their sides. */
  get open(): number {
    return this.#sockets.size;
  }

  /** Loses the replies to the next requests with this command. */
  lose(command: string, times = 1): void {
    this.#lose = { command, times };
  }

  #serve(client: Socket, node: Socket): void {
    this.accepted++;
    let losing = false;
    for (const s of [client, node]) {
      this.#sockets.add(s);
      s.on("error", () => s.destroy());
      s.on("close", () => {
        this.#sockets.delete(s);
        client.destroy();
        node.destroy();
        this.closed.emit("close");
      });
    }
    client.on("data", (data) => {
      const command = /TURN\.\w+/.exec(data.toString("latin1"))?.[0];
      if (command) this.seen.set(command, (this.seen.get(command) ?? 0) + 1);
      if (command && command === this.#lose?.command && this.#lose.times > 0) {
        this.#lose.times--;
        losing = true;
      }
      node.write(this.request(data.toString("latin1")), "latin1");
    });
    node.on("data", (data) => {
      if (losing) client.destroy();
      else client.write(this.reply(data.toString("latin1")), "latin1");
    });
  }

  stop(): void {
    this.#server.close();
    for (const s of this.#sockets) s.destroy();
  }
}

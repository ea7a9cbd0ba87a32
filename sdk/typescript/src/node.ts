import type { Address, Settings } from "./config.js";
import { Connection } from "./connection.js";

/** One address, with the connections to it. @internal */
export class Node {
  readonly addr: Address;
  readonly #settings: Settings;
  #connections: Connection[] = []; // shared
  readonly #open = new Set<Connection>();
  #opening: Promise<Connection> | undefined;
  readonly #closing = new AbortController();

  // Owned by Router.
  failures = 0;
  badUntil = 0;

  constructor(addr: Address, settings: Settings) {
    this.addr = addr;
    this.#settings = settings;
  }

  /**
   * Returns a shared connection: an idle one, else the least loaded. Another one is opened meanwhile if
   * there may be more. Writes go together over the first connection that has room: they then leave in one
   * packet, and the node commits them together. Reads are answered in parallel, so they are spread.
   */
  get(write = false): Connection | Promise<Connection> {
    const shared = write ? this.#connections.find((c) => c.hasRoom) : undefined;
    if (shared) return shared;
    const best = this.#leastLoaded();
    const more = !this.#opening && this.#connections.length < this.#settings.connections;
    if (best && (best.load === 0 || !more)) return best;
    if (more) this.#opening = this.#share();
    if (!best) return this.#opening!;
    this.#opening!.catch(() => {}); // the request goes over the connection that is there
    return best;
  }

  #leastLoaded(): Connection | undefined {
    let best: Connection | undefined;
    let ended = false;
    for (const c of this.#connections) {
      if (c.load < 0) ended = true;
      else if (!best || c.load < best.load) best = c;
    }
    if (ended) this.#connections = this.#connections.filter((c) => c.load >= 0);
    return best;
  }

  async #share(): Promise<Connection> {
    try {
      const c = await this.open();
      this.#connections.push(c);
      return c;
    } finally {
      this.#opening = undefined;
    }
  }

  /** Opens a connection that no other request shares; the caller closes it. */
  async open(stallTimeout?: number): Promise<Connection> {
    const closing = this.#closing.signal;
    closing.throwIfAborted();
    const c = await Connection.open(this.addr, this.#settings, closing, stallTimeout);
    if (closing.aborted) {
      c.close(closing.reason); // `close` did not know of it yet
      throw closing.reason;
    }
    this.#open.add(c);
    c.ended = () => this.#open.delete(c);
    return c;
  }

  close(): void {
    const closed = new Error("the client is closed");
    this.#closing.abort(closed);
    for (const c of [...this.#open]) c.close(closed);
    this.#connections = [];
  }
}

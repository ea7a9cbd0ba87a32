import { parseAddress, type Settings } from "./config.js";
import { Node } from "./node.js";

/** For how long a node that failed is passed over: doubled with each failure in a row. */
const badFirst = 50;
const badMost = 2_000;

/** How often a known leader is confirmed, and an unknown one asked for. */
const leaderKnown = 5_000;
const leaderMissing = 100;

/**
 * Knows the nodes and says which one the next request goes to: the leader if it is known, else the one
 * that worked last.
 *
 * @internal
 */
export class Router {
  readonly #settings: Settings;
  readonly #nodes: Node[] = []; // those of the configuration first
  #current: Node;
  #leader: Node | undefined;
  #asked = -Infinity; // when the leader was last asked for
  #closed = false;

  constructor(settings: Settings) {
    this.#settings = settings;
    for (const a of settings.addrs) this.#node(a.text);
    this.#current = this.#nodes[0]!;
  }

  #node(text: string): Node {
    const addr = parseAddress(text);
    let node = this.#nodes.find((n) => n.addr.text === addr.text);
    if (!node) this.#nodes.push((node = new Node(addr, this.#settings)));
    return node;
  }

  /** How many nodes there are. */
  get size(): number {
    return this.#nodes.length;
  }

  /** Returns the node to try next. */
  pick(): Node {
    const now = performance.now();
    if (this.#leader && now >= this.#leader.badUntil) return this.#leader;
    if (now < this.#current.badUntil) {
      this.#current = this.#nodes.reduce((a, b) => (b.badUntil < a.badUntil ? b : a));
    }
    return this.#current;
  }

  /** Notes that a node gave no useful answer. */
  failed(n: Node): void {
    n.badUntil = performance.now() + Math.min(badFirst * 2 ** Math.min(n.failures, 10), badMost);
    n.failures++;
    if (this.#leader === n) {
      this.#leader = undefined;
      this.#asked = -Infinity; // ask again soon
    }
  }

  /** Notes that a node answered. */
  worked(n: Node): void {
    n.failures = 0;
    n.badUntil = 0;
  }

  /** Reports whether the caller should find out who leads, which is so for one caller in a period. */
  askLeader(): boolean {
    if (!this.#settings.followLeader || this.#closed) return false;
    const now = performance.now();
    if (now - this.#asked < (this.#leader ? leaderKnown : leaderMissing)) return false;
    this.#asked = now;
    return true;
  }

  /** Takes over what the cluster says of itself. */
  learn(leader: string | undefined, addrs: string[]): void {
    if (this.#closed) return;
    for (const a of addrs) this.#node(a);
    this.#leader = leader === undefined ? undefined : this.#node(leader);
  }

  close(): void {
    this.#closed = true;
    for (const n of this.#nodes) n.close();
  }
}

import { onAbort } from "./abort.js";
import { Call } from "./call.js";
import { gaveUp, roundTrip, type Client } from "./client.js";
import type { Connection, Reply } from "./connection.js";
import { TurnlogError, asTurnlogError } from "./errors.js";
import { lasts } from "./lasting.js";
import type { Message } from "./message.js";
import type { Node } from "./node.js";
import type { Request } from "./request.js";
import type { Consistency } from "./options.js";
import { history, type History } from "./results.js";
import type { Session } from "./session.js";
import { Tried } from "./tried.js";

/** How long the server holds back an empty answer. */
const block = 5_000;

const pauseFirst = 10;
const pauseMost = 500;

/** Where a tail has arrived. @internal */
export class Tail {
  readonly #client: Client;
  readonly #session: Session;
  readonly #signal: AbortSignal | undefined;
  readonly #stop = new AbortController();
  readonly #call: Call;
  #returned = false;
  #after: number;
  #incarnation = 0; // of the session that #after belongs to; 0: not known yet
  #down: number | undefined; // since when nothing was answered
  #pause = pauseFirst;
  #tried = new Tried(); // since then

  constructor(client: Client, session: Session, after: number, options: { signal?: AbortSignal | undefined }) {
    this.#client = client;
    this.#session = session;
    this.#after = after;
    new Call(options); // throws what is wrong with them
    this.#signal = options.signal;
    this.#call = new Call({ signal: this.#stop.signal });
  }

  /**
   * Returns a generator whose `return` and `throw` end a `next` that waits; those of any other would wait for
   * the next message themselves.
   */
  messages(): AsyncGenerator<Message, void, undefined> {
    const all = this.#messages();
    const end = (): void => {
      this.#returned = true;
      this.#stop.abort();
    };
    const { return: returned, throw: thrown } = all;
    all.return = (value) => (end(), returned.call(all, value));
    all.throw = (error) => (end(), thrown.call(all, error));
    return all;
  }

  async *#messages(): AsyncGenerator<Message, void, undefined> {
    const signal = this.#signal;
    const aborted = (): void => this.#stop.abort(signal!.reason);
    const ignore = signal && onAbort(signal, aborted);
    if (signal?.aborted) aborted();
    try {
      yield* this.#everything();
    } catch (err) {
      if (!this.#returned) throw err;
    } finally {
      ignore?.();
    }
  }

  async *#everything(): AsyncGenerator<Message, void, undefined> {
    for (;;) {
      const node = this.#client.router.pick();
      let own: Connection | undefined;
      try {
        own = await this.#client.dial(node, this.#call, block + this.#client.settings.stallTimeout);
        yield* this.#follow(node, own);
      } catch (err) {
        await this.#failed(node, asTurnlogError(err));
      } finally {
        own?.close(undefined);
      }
    }
  }

  /** Waits before the next attempt, or throws if there is to be none. */
  async #failed(node: Node, error: TurnlogError): Promise<void> {
    if (this.#call.over) throw gaveUp(this.#call, "the tail was ended");
    if (!["UNAVAILABLE", "OVERLOADED", "UNKNOWN_OUTCOME"].includes(error.kind) && !lasts(error)) throw error;
    this.#client.router.failed(node);
    if (this.#down === undefined) {
      this.#down = performance.now();
      this.#pause = pauseFirst;
      this.#tried = new Tried();
    }
    this.#tried.note(node.addr.text, error);
    const late = performance.now() - this.#down > this.#client.settings.retryFor;
    if (late || this.#tried.lastingly(this.#client.router.size)) throw this.#tried.all(error);
    if (!(await this.#call.sleep(this.#pause, this.#client.closed))) {
      throw this.#call.over ? gaveUp(this.#call, "the tail was ended") : error;
    }
    this.#pause = Math.min(2 * this.#pause, pauseMost);
  }

  /**
   * Reads what is there, then waits for more, and so on. Each wait and the read after it go out together. A
   * read after one that found something asks the node itself, which has seen what ended the wait; it may be
   * behind the leader that answered before, and #take passes over what is older than what it has. The
   * others are linearizable, lest a node that lags show nothing again and again.
   */
  async *#follow(node: Node, own: Connection): AsyncGenerator<Message, void, undefined> {
    let waiting = false;
    for (let consistency: Consistency = "linearizable"; ;) {
      const read = this.#session.readRequest({
        after: this.#after,
        limit: 512,
        maxBytes: 4 << 20,
        consistency,
      });
      const wait = waiting ? this.#session.waitRequest(this.#after, block) : undefined;
      const found = history(await this.#round(node, own, wait, read));
      this.#client.router.worked(node);
      this.#down = undefined;
      yield* this.#take(found);
      waiting = !found.more;
      consistency = found.messages.length > 0 ? "stale" : "linearizable";
    }
  }

  /** Sends a wait, if there is one, and a read, and returns the read's reply. */
  async #round(node: Node, own: Connection, wait: Request | undefined, read: Request): Promise<Reply> {
    const waited = wait && roundTrip(own, node, wait, this.#call);
    const reply = roundTrip(own, node, read, this.#call);
    const [, found] = await Promise.all([waited, reply]);
    return found;
  }

  /**
   * Yields the messages found, unless they belong to another session than the one that was followed: then
   * the next read begins at that one's start.
   */
  *#take(h: History): Generator<Message, void, undefined> {
    const known = this.#incarnation !== 0;
    if (h.incarnation < this.#incarnation) return; // deleted, or this node has yet to catch up
    if (known && h.incarnation === this.#incarnation && h.lastSeq < this.#after) return; // the same
    const restarted = known && h.incarnation > this.#incarnation;
    this.#incarnation = h.incarnation;
    if (restarted || h.lastSeq < this.#after) {
      this.#after = 0; // it came from an earlier session
      return;
    }
    for (const m of h.messages) {
      this.#after = m.seq;
      yield m;
    }
  }
}

import { Budget } from "./budget.js";
import { Call, CallEnded, type CallOptions } from "./call.js";
import { settings, type Config, type Settings } from "./config.js";
import { Lost, type Connection, type Reply } from "./connection.js";
import { Fields, sessionInfo, text, type SessionInfo } from "./decode.js";
import { TurnlogError, asTurnlogError, invalid, withoutKind } from "./errors.js";
import { Hash } from "./hash.js";
import { lasting, lasts, unanswered, whyNot } from "./lasting.js";
import type { Node } from "./node.js";
import { Request, encode, type Key } from "./request.js";
import { Router } from "./router.js";
import { Session } from "./session.js";
import { answered, traceparentOf, traced, type Span } from "./tracing.js";
import { Transaction } from "./transaction.js";
import { Tried } from "./tried.js";
import { verbs } from "./verb.js";

const backoffFirst = 10;
const backoffMost = 500;

/** One page of `Client.sessionsPage`. */
export interface SessionsPage {
  sessions: SessionInfo[];
  /** Where the next page begins; empty after the last. */
  cursor: string;
}

/** What lists of sessions select by. */
export interface Labels {
  /** Labels, by their names, that sessions must carry. */
  labels?: Record<string, string> | undefined;
}

/** The cluster as one node sees it, with the fields of `GET /v1/cluster`. */
export interface Cluster {
  leader?: string | undefined;
  nodes: { id: string; resp_addr?: string; [field: string]: unknown }[];
  [field: string]: unknown;
}

/** Sends a request once. It rejects with a TurnlogError: UNKNOWN_OUTCOME if it may have been carried out. */
type Attempt = (node: Node, request: Request, call: Call) => Promise<Reply>;

/**
 * Talks to a cluster, within one namespace. Connections are opened when they are needed and kept until
 * `close`. Requests of concurrent calls share a few connections and have no order; a caller that awaits
 * each result sees its own writes.
 *
 * Messages get their ids before the first send. So an append is retried under the same ids, over other
 * connections and nodes, until it is answered, its time is over or `Config.retryFor` has passed, and is
 * stored once. Operations without ids are not sent again once their request may have left this machine;
 * they fail with `UNKNOWN_OUTCOME`.
 */
export class Client {
  /** @internal */
  readonly settings: Settings;
  /** @internal */
  readonly router: Router;
  readonly #budget: Budget;
  readonly #closing = new AbortController();

  /** Makes a client. It connects to nothing yet. */
  constructor(config: Config) {
    this.settings = settings(config);
    this.router = new Router(this.settings);
    this.#budget = new Budget(this.settings.maxInFlightBytes);
  }

  /** Aborts when the client is closed. @internal */
  get closed(): AbortSignal {
    return this.#closing.signal;
  }

  /** Returns a handle on the session of that key, 1 to 512 bytes; it sends nothing. */
  session(key: Key): Session {
    return new Session(this, key);
  }

  /** Returns a handle on the hash of that key; it sends nothing. */
  hash(key: Key): Hash {
    return new Hash(this, key);
  }

  /**
   * Returns an empty transaction. It has an id, by which it takes place once: one that you give it, so that
   * your process can commit it again after a restart, or one that is made if it is missing or empty.
   */
  transaction<Steps extends unknown[] = []>(id?: string): Transaction<Steps> {
    return new Transaction<Steps>(this, id || this.settings.newId());
  }

  /** Ends every connection. Calls that wait for a reply fail, and so do tails. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.router.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /**
   * Yields every session of the namespace whose key begins with prefix, in key order. With labels, it
   * yields those that carry all of them, the one that changed last first: their metadata has a key
   * `label.NAME` for each. Sessions that come, go or change meanwhile may be missed or seen.
   */
  async *sessions(
    prefix: Key = "",
    options: CallOptions & Labels = {},
  ): AsyncGenerator<SessionInfo, void, undefined> {
    let cursor = "";
    do {
      const page = await this.sessionsPage(prefix, { ...options, cursor });
      yield* page.sessions;
      cursor = page.cursor;
    } while (cursor !== "");
  }

  /**
   * Returns up to `limit` (1,000) sessions after a cursor. By labels, a page is of one moment, and can be
   * short, or empty, before the last one.
   */
  async sessionsPage(
    prefix: Key = "",
    options: CallOptions & Labels & { cursor?: string | undefined; limit?: number | undefined } = {},
  ): Promise<SessionsPage> {
    const r = new Request(verbs.list);
    for (const [name, value] of Object.entries(options.labels ?? {})) {
      r.add("LABEL", encode("a label", name), encode("a label", value));
    }
    if (prefix.length > 0) r.add("PREFIX", encode("a prefix", prefix));
    if (options.cursor) r.add("CURSOR", encode("a cursor", options.cursor));
    const f = new Fields(await this.send(r.option("LIMIT", options.limit ?? 1000), options));
    return { cursor: text(f.get("cursor")), sessions: (f.get("sessions") as Reply[]).map(sessionInfo) };
  }

  /**
   * Deletes every session of the namespace whose key begins with prefix and returns how many there were.
   * It is not atomic: a session created meanwhile may stay. The prefix must not be empty: see `eraseAll`.
   */
  async erase(prefix: Key, options: CallOptions = {}): Promise<number> {
    if (prefix.length === 0) {
      throw invalid(
        "the prefix is empty, which would delete every session of the namespace: eraseAll does that",
      );
    }
    return this.#erase(new Request(verbs.erase, "PREFIX", encode("a prefix", prefix)), options);
  }

  /** Is `erase` of every session of the namespace. */
  async eraseAll(options: CallOptions = {}): Promise<number> {
    return this.#erase(new Request(verbs.erase, "PREFIX", "", "ALL"), options);
  }

  async #erase(request: Request, options: CallOptions): Promise<number> {
    const reply = await this.#traced(request, (span) =>
      this.retry(
        request,
        new Call(options),
        async (node, r, call) => {
          const own = await this.dial(node, call, 24 * 3600_000);
          try {
            return await roundTrip(own, node, r, call);
          } finally {
            own.close(undefined);
          }
        },
        span,
      ),
    );
    return new Fields(reply).number("removed");
  }

  /** Returns the cluster as the node that answers sees it. */
  async cluster(options: CallOptions = {}): Promise<Cluster> {
    return JSON.parse(text(await this.send(new Request(verbs.cluster), options))) as Cluster;
  }

  /** Sends a request until it is answered for good. @internal */
  send(request: Request, options: CallOptions): Promise<Reply> {
    return this.#traced(request, (span) => this.#send(request, options, span));
  }

  /** Makes a call, as part of a trace if there is one. */
  #traced(request: Request, call: (span?: Span) => Promise<Reply>): Promise<Reply> {
    const { tracer, namespace } = this.settings;
    if (!tracer) {
      request.traceparent = this.#traceparent();
      return call();
    }
    return traced(tracer, namespace, request.command, (span) => {
      request.traceparent = traceparentOf(span) ?? this.#traceparent();
      return call(span);
    });
  }

  async #send(request: Request, options: CallOptions, span: Span | undefined): Promise<Reply> {
    const call = new Call(options);
    const bytes = Math.min(request.bytes, this.settings.maxInFlightBytes);
    const wait = this.#budget.take(bytes, call);
    if (wait)
      await wait.catch(() =>
        Promise.reject(gaveUp(call, `${request.command} was not sent: too many requests in flight`)),
      );
    try {
      return await this.retry(request, call, this.#attempt, span);
    } finally {
      const give = (): void => this.#budget.give(bytes);
      if (request.sent) request.sent.then(give, give);
      else give();
    }
  }

  readonly #attempt: Attempt = async (node, request, call) => {
    if (this.router.askLeader()) void this.#findLeader();
    let connection = node.get(request.again !== "harmless");
    if (connection instanceof Promise) connection = await this.#connected(node, connection, call);
    return roundTrip(connection, node, request, call);
  };

  /** Opens a connection that no other request shares; the caller closes it. @internal */
  dial(node: Node, call: Call, stallTimeout: number): Promise<Connection> {
    const opening = node.open(stallTimeout);
    return this.#connected(node, opening, call).catch((err) => {
      opening.then((c) => c.close(undefined)).catch(() => {});
      throw err;
    });
  }

  async #connected(node: Node, connection: Promise<Connection>, call: Call): Promise<Connection> {
    try {
      return await call.wait(connection);
    } catch (err) {
      const at = node.addr.text;
      if (TurnlogError.is(err)) throw rejection(at, err);
      if (this.closed.aborted) throw notSent("the client is closed", err);
      if (err instanceof CallEnded) throw notSent(`the call ended before ${at} was reached`, err);
      const lasts = whyNot(err);
      const explained = [lasts ?? unanswered(err), reason(err).trim()].filter(Boolean).join("; ");
      const error = notSent(`${at} cannot be reached (${explained})`, err);
      throw lasts ? lasting(error) : error;
    }
  }

  /** Makes attempts until one of them settles the matter. @internal */
  async retry(request: Request, call: Call, attempt: Attempt, span?: Span): Promise<Reply> {
    if (call.over) throw gaveUp(call, `${request.command} was not sent: the call was over before it began`);
    const start = performance.now();
    let uncertain = false; // an attempt before may have been carried out
    const tried = new Tried();
    let attempts = 1;
    for (let pause = backoffFirst; ; pause = Math.min(2 * pause, backoffMost), attempts++) {
      const node = this.router.pick();
      let error: TurnlogError;
      try {
        const reply = await attempt(node, request, call);
        this.router.worked(node);
        if (span) answered(span, node.addr, attempts);
        return reply;
      } catch (err) {
        error = asTurnlogError(err);
      }
      const { kind } = error;
      if (kind === "UNKNOWN_OUTCOME" || kind === "UNAVAILABLE" || lasts(error)) this.router.failed(node);
      else if (kind !== "OVERLOADED") throw settle(uncertain, error);
      uncertain ||= kind === "UNKNOWN_OUTCOME";
      if (kind === "UNKNOWN_OUTCOME" && request.again === "never") throw error;
      tried.note(node.addr.text, error);
      const late =
        performance.now() - start + pause > this.settings.retryFor || tried.lastingly(this.router.size);
      if (call.over || late || !(await call.sleep(pause * (0.5 + Math.random()), this.closed))) {
        const last = settle(uncertain, this.closed.aborted ? error : tried.all(error));
        throw call.over ? new TurnlogError(last.kind, withoutKind(last), { cause: call.reason }) : last;
      }
    }
  }

  /** Is what the configuration's function says. That it fails is no reason not to store a turn. */
  #traceparent(): string | undefined {
    try {
      const trace = this.settings.traceparent?.();
      return typeof trace === "string" ? trace : undefined;
    } catch {
      return undefined;
    }
  }

  /** Asks who leads. Requests go on to the node that is known meanwhile. */
  async #findLeader(): Promise<void> {
    const call = new Call({ timeout: this.settings.dialTimeout });
    const node = this.router.pick();
    try {
      const connection = await call.wait(Promise.resolve(node.get()));
      const reply = await roundTrip(connection, node, new Request(verbs.cluster), call);
      const { nodes, leader } = JSON.parse(text(reply)) as Cluster;
      const reachable = nodes.filter((n) => n.resp_addr);
      const leads = reachable.find((n) => n.id === leader);
      this.router.learn(
        leads?.resp_addr,
        reachable.map((n) => n.resp_addr!),
      );
    } catch {
      // The next request asks again.
    }
  }
}

/** Sends a request over one connection. @internal */
export async function roundTrip(
  connection: Connection,
  node: Node,
  request: Request,
  call: Call,
): Promise<Reply> {
  const reply = connection.send(request.args, request.bytes, request.traceparent);
  request.sent = reply;
  try {
    return await call.wait(reply);
  } catch (err) {
    if (TurnlogError.is(err)) throw err;
    const sent = err instanceof CallEnded || (err instanceof Lost && err.sent);
    const perhaps = sent && request.again !== "harmless";
    throw new TurnlogError(
      perhaps ? "UNKNOWN_OUTCOME" : "UNAVAILABLE",
      `no answer to ${request.command} from ${node.addr.text} (${(err as Error).message}); ` +
        (perhaps ? "it may have been carried out" : "nothing was changed"),
      { cause: err },
    );
  }
}

/**
 * What the state machine says after it has looked for the ids. A node may refuse all else before that: by its
 * limits, as of a version that does not know the request, or as a key that has been given another type since.
 */
const settling = new Set("NOT_FOUND EXISTS CONFLICT ID_REUSED UNKNOWN_OUTCOME".split(" "));

/**
 * Returns the error of a call whose last attempt ended with `error`. If an earlier attempt is uncertain,
 * the last one decides only if the state machine refused it: it would have recognised the ids otherwise.
 */
function settle(uncertain: boolean, error: TurnlogError): TurnlogError {
  if (!uncertain || settling.has(error.kind)) return error;
  const lost = "an earlier attempt may have taken place, but its reply was lost";
  return new TurnlogError("UNKNOWN_OUTCOME", `${lost} (then: ${error.message})`, { cause: error });
}

function notSent(why: string, cause: unknown): TurnlogError {
  return new TurnlogError("UNAVAILABLE", `${why}; nothing was sent`, { cause });
}

/** The error of a connection that a node answers with one, as does one that takes TLS only, and what is no node. */
function rejection(addr: string, error: TurnlogError): TurnlogError {
  if (error.retryable) return error;
  const unnamed = error.kind === "UNAUTHORIZED" && error.message.includes("HELLO must be called");
  const why = unnamed ? "it has users, and neither a user nor a password is given" : withoutKind(error);
  const rejected = new TurnlogError(error.kind, `${addr} rejects the connection: ${why}`, { cause: error });
  return lasts(error) ? lasting(rejected) : rejected;
}

/** What went wrong; of several addresses of a name, with each of them. */
function reason(err: unknown): string {
  if (err instanceof AggregateError && err.message === "") return err.errors.map(reason).join(", ");
  if (!(err instanceof Error)) return String(err);
  const openssl = /:SSL routines:[^:]*:([^:]+):/.exec(err.message); // the rest is where in its source
  return openssl?.[1] ?? (err.message || err.name);
}

/** @internal */
export function gaveUp(call: Call, message: string): TurnlogError {
  return new TurnlogError("UNAVAILABLE", message, { cause: call.reason });
}

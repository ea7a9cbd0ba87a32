import { ClientClosedError, ClientOfflineError, ErrorReply, RESP_TYPES, createClient } from "@redis/client";
import type { Address, Settings } from "./config.js";
import { fromReply } from "./errors.js";
import type { Arg } from "./request.js";

/** A decoded reply; maps are arrays in which names and values alternate. @internal */
export type Reply = null | number | string | Buffer | Reply[];

/** The connection ended before the reply. @internal */
export class Lost extends Error {
  /** Whether the request may have left this machine. */
  readonly sent: boolean;

  constructor(cause: unknown, sent: boolean) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.sent = sent;
  }
}

const options = {
  typeMapping: { [RESP_TYPES.MAP]: Array, [RESP_TYPES.BLOB_STRING]: Buffer },
  timeout: 0, // its own would give every command a timer, and bounds only the wait for the socket
};

/** How fast a request is received at the least: its size gives it so much more time. */
const bytesPerMillisecond = 64;

/** What writes share one connection, before they take another. */
const sharedRequests = 64;
const sharedBytes = 256 * 1024;

type Carrier = ReturnType<typeof carrier>;

/**
 * A client of the library that carries the bytes. All that it would do by itself is off: it makes one
 * connection, queues nothing while there is none, and sends nothing twice.
 */
function carrier(addr: Address, s: Settings) {
  return createClient({
    RESP: 3,
    socket: {
      host: addr.host,
      port: addr.port,
      connectTimeout: s.dialTimeout,
      reconnectStrategy: false,
      ...(s.tls && { ...(s.tls as object), tls: true, servername: s.tls.servername ?? servername(addr.host) }),
    },
    ...(s.password === undefined ? {} : { username: s.username ?? "default", password: s.password }),
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: "disabled",
  });
}

/** An IP address is no name that a client may ask for. */
function servername(host: string): string {
  return /^[\d.]+$|:/.test(host) ? "" : host;
}

/**
 * One connection, shared by any number of calls. Requests are answered in the order in which they are
 * sent.
 *
 * @internal
 */
export class Connection {
  readonly #redis: Carrier;
  readonly #stallTimeout: number;
  #waiting = 0;
  #bytes = 0; // of the unanswered requests
  #progress = 0; // when the last reply came, or the first request was sent
  #watch: NodeJS.Timeout | undefined;
  #ended: unknown;

  private constructor(redis: Carrier, stallTimeout: number) {
    this.#redis = redis;
    this.#stallTimeout = stallTimeout;
    redis.on("error", (err) => this.close(err));
  }

  /**
   * Opens a connection, authenticated and in the namespace. That is confirmed before any other request
   * is sent: a request must never run in another namespace. A rejection by the server is a TurnlogError.
   */
  static async open(addr: Address, s: Settings, stallTimeout = s.stallTimeout): Promise<Connection> {
    const c = new Connection(carrier(addr, s), stallTimeout);
    const late = setTimeout(() => c.close(new Error(`no handshake within ${s.dialTimeout} ms`)), s.dialTimeout);
    try {
      await c.#redis.connect();
      await c.#redis.sendCommand(["TURN.NS", s.namespace], options);
      if (c.#ended) throw c.#ended;
      return c;
    } catch (err) {
      c.close(err);
      throw err instanceof ErrorReply ? fromReply(err.message) : c.#ended;
    } finally {
      clearTimeout(late);
    }
  }

  /** How many requests are unanswered; -1 if the connection ended. */
  get load(): number {
    return this.#ended ? -1 : this.#waiting;
  }

  /** Whether one more write would not wait for long behind those that are unanswered. */
  get hasRoom(): boolean {
    return !this.#ended && this.#waiting < sharedRequests && this.#bytes < sharedBytes;
  }

  /**
   * Sends a command, as part of a trace if one is named. An error reply is a TurnlogError, a connection
   * that ends first a Lost.
   */
  send(args: Arg[], bytes: number, traceparent?: string): Promise<Reply> {
    if (this.#ended) return Promise.reject(new Lost(this.#ended, false));
    if (this.#waiting++ === 0) this.#expectReply();
    this.#bytes += bytes;
    if (traceparent) {
      // A node that does not know the command carries out the next one all the same.
      this.#redis.sendCommand(["TURN.TRACE", traceparent], options).catch(() => {});
    }
    return (this.#redis.sendCommand(args, options) as Promise<unknown>).then(
      (reply) => {
        this.#answered(bytes);
        return reply as Reply;
      },
      (err) => {
        this.#answered(bytes);
        if (err instanceof ErrorReply) throw fromReply(err.message);
        throw new Lost(
          this.#ended ?? err,
          !(err instanceof ClientClosedError || err instanceof ClientOfflineError),
        );
      },
    );
  }

  #answered(bytes: number): void {
    this.#waiting--;
    this.#bytes -= bytes;
    this.#progress = performance.now();
  }

  /** Begins to watch that replies come. One timer serves many requests, and ends when none is left. */
  #expectReply(): void {
    this.#progress = performance.now();
    if (this.#watch) return;
    const look = (): void => {
      this.#watch = undefined;
      if (this.#waiting === 0 || this.#ended) return;
      const allowed = this.#stallTimeout + this.#bytes / bytesPerMillisecond;
      const left = this.#progress + allowed - performance.now();
      if (left <= 0) return this.close(new Error("the server sent nothing for too long"));
      this.#watch = setTimeout(look, left + 1);
      this.#watch.unref();
    };
    this.#watch = setTimeout(look, this.#stallTimeout);
    this.#watch.unref();
  }

  /** Ends the connection; what is unanswered is rejected as Lost. */
  close(why: unknown): void {
    if (this.#ended) return;
    this.#ended = why ?? new Error("the connection was closed");
    clearTimeout(this.#watch);
    this.#redis.destroy();
  }
}

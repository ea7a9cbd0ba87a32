import { ClientClosedError, ClientOfflineError, ErrorReply, RESP_TYPES, createClient } from "@redis/client";
import { onAbort } from "./abort.js";
import type { Address, Settings } from "./config.js";
import { fromReply } from "./errors.js";
import { lasting } from "./lasting.js";
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
function carrier(addr: Address, s: Settings, stop: AbortSignal) {
  return createClient({
    RESP: 3,
    socket: {
      host: addr.host,
      port: addr.port,
      connectTimeout: s.dialTimeout,
      reconnectStrategy: false,
      signal: stop, // the library's destroy does not end a socket that is not connected yet
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
  readonly #stop = new AbortController();
  readonly #stallTimeout: number;
  #waiting = 0;
  #bytes = 0; // of the unanswered requests
  #progress = 0; // when the last reply came, or the first request was sent
  #watch: NodeJS.Timeout | undefined;
  #ended: unknown;
  /** Is called when the connection ends. */
  ended = (): void => {};

  private constructor(addr: Address, s: Settings, stallTimeout: number) {
    this.#redis = carrier(addr, s, this.#stop.signal);
    this.#stallTimeout = stallTimeout;
    this.#redis.on("error", (err) => this.close(err));
    this.#redis.on("connect", () => this.#ended && this.#redis.destroy()); // where sockets know no signals
  }

  /**
   * Opens a connection, authenticated and in the namespace. That is confirmed before any other request
   * is sent: a request must never run in another namespace. A rejection by the server is a TurnlogError.
   */
  static async open(
    addr: Address,
    s: Settings,
    closing: AbortSignal,
    stallTimeout = s.stallTimeout,
  ): Promise<Connection> {
    const c = new Connection(addr, s, stallTimeout);
    const ended = new Promise<never>((_, reject) => (c.ended = () => reject(c.#ended)));
    const late = setTimeout(() => c.close(new Error(`no handshake within ${s.dialTimeout} ms`)), s.dialTimeout);
    const ignore = onAbort(closing, () => c.close(closing.reason));
    try {
      await Promise.race([c.#handshake(s.namespace), ended]);
      return c;
    } catch (err) {
      c.close(err);
      if (!(err instanceof ErrorReply)) throw c.#ended;
      const rejected = fromReply(err.message);
      // Not what turnlog calls invalid, such as the name of a namespace, which is so everywhere.
      throw err.message.startsWith("ERR ") ? lasting(rejected) : rejected;
    } finally {
      clearTimeout(late);
      ignore();
    }
  }

  async #handshake(namespace: string): Promise<void> {
    await this.#redis.connect();
    await this.#redis.sendCommand(["TURN.NS", namespace], options);
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
      if (this.#waiting === 0 || this.#ended) {
        this.#watch = undefined;
        return;
      }
      const allowed = this.#stallTimeout + this.#bytes / bytesPerMillisecond;
      const left = this.#progress + allowed - performance.now();
      if (left > 0) this.#watch = setTimeout(look, left + 1).unref();
      else if (seen === this.#progress) this.close(new Error("the server sent nothing for too long"));
      else {
        // This process may have done something else for that long: what came meanwhile is read first.
        seen = this.#progress;
        setImmediate(look);
      }
    };
    let seen: number | undefined;
    this.#watch = setTimeout(look, this.#stallTimeout).unref();
  }

  /** Ends the connection; what is unanswered is rejected as Lost. */
  close(why: unknown): void {
    if (this.#ended) return;
    this.#ended = why ?? new Error("the connection was closed");
    clearTimeout(this.#watch);
    this.#redis.destroy();
    this.#stop.abort();
    this.ended();
  }
}

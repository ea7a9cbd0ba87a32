import { randomBytes } from "node:crypto";
import type { ConnectionOptions } from "node:tls";
import { invalid } from "./errors.js";
import { kind } from "./request.js";
import type { Tracer } from "./tracing.js";

/** How a Client reaches its cluster. Times are in milliseconds. */
export interface Config {
  /** RESP addresses of nodes, `HOST:PORT`. The first that works is used; when it fails, the next. */
  addrs: string | readonly string[];
  /** What all sessions of the Client are in; default `"0"`. */
  namespace?: string | undefined;

  /** Authenticate each connection, if `password` is set; the default user is `default`. */
  username?: string | undefined;
  password?: string | undefined;
  /**
   * Encrypts each connection: `true` trusts the system's authorities, and options are those of
   * `tls.connect`. `servername` defaults to the host of the node's address.
   */
  tls?: boolean | ConnectionOptions | undefined;

  /**
   * Send requests to the leader, which saves a hop, and find it again after a change. The other
   * nodes' addresses are learned on the way.
   */
  followLeader?: boolean | undefined;

  /**
   * How long a failing request is tried again, counted from its start; default 15,000, 0: no second
   * attempt; 300,000 at most, since transactions are known by their ids for twice that. It must exceed an
   * election (about 2,500) to hide one.
   */
  retryFor?: number | undefined;
  /**
   * How long a connection may owe a reply without completing any until it is given up; default 8,000,
   * a little more than a node takes at most to answer. Large requests have more.
   */
  stallTimeout?: number | undefined;
  /** Bounds connecting and the handshake; default 2,000. */
  dialTimeout?: number | undefined;

  /**
   * Bounds the shared connections to one node; default 4. More than one is opened only under load.
   * Tails and erasures use connections of their own.
   */
  connections?: number | undefined;
  /** Bounds the requests that are queued or unanswered, together; default 64 MiB. Calls beyond it wait. */
  maxInFlightBytes?: number | undefined;

  /**
   * Returns which trace a call is part of, as a `traceparent` of the W3C's Trace Context; undefined if it is part
   * of none. Nodes that send traces make their spans children of the span that it names. It is called once in a
   * call, in the caller's asynchronous context, and not for a tail. When it throws, the call is part of no trace.
   */
  traceparent?: (() => string | undefined) | undefined;
  /**
   * Makes a span for each call, by OpenTelemetry's conventions for database clients. It tells no key and no payload.
   * The node is told the span's trace, so that its own spans become part of it. A tail has none.
   */
  tracer?: Tracer | undefined;

  /** Makes message ids; default: 128 random bits in hexadecimal. Two calls must never return the same id. */
  newId?: (() => string) | undefined;
}

type Completed = {
  [
    K in Exclude<keyof Config, "addrs" | "username" | "password" | "tls" | "traceparent" | "tracer">
  ]-?: NonNullable<Config[K]>;
};

/** @internal */
export interface Settings extends Completed {
  addrs: Address[];
  username: string | undefined;
  password: string | undefined;
  tls: ConnectionOptions | undefined;
  traceparent: (() => string | undefined) | undefined;
  tracer: Tracer | undefined;
}

/** @internal */
export interface Address {
  text: string;
  host: string;
  port: number;
}

/** Returns config completed, or throws what is wrong with it. @internal */
export function settings(config: Config): Settings {
  if (typeof config?.addrs !== "string" && !Array.isArray(config?.addrs)) {
    throw invalid("no addresses given, as in { addrs: [HOST:PORT] }");
  }
  const addrs = (typeof config.addrs === "string" ? config.addrs.split(",") : config.addrs).map(parseAddress);
  if (addrs.length === 0) throw invalid("no address given");
  for (const name of ["namespace", "username", "password"] as const) {
    const value: unknown = config[name];
    if (value !== undefined && typeof value !== "string")
      throw invalid(`${name} is ${kind(value)}, not a string`);
  }
  if (config.username !== undefined && config.password === undefined) {
    throw invalid(`user ${config.username} has no password: requests would be sent without authentication`);
  }
  return {
    addrs,
    namespace: config.namespace ?? "0",
    username: config.username,
    password: config.password,
    tls: config.tls === true ? {} : config.tls || undefined,
    followLeader: config.followLeader ?? false,
    retryFor: Math.min(number(config, "retryFor") ?? 15_000, maxRetryFor),
    stallTimeout: time(config, "stallTimeout") ?? 8_000,
    dialTimeout: time(config, "dialTimeout") ?? 2_000,
    connections: Math.max(1, number(config, "connections") ?? 4),
    maxInFlightBytes: number(config, "maxInFlightBytes") ?? 64 << 20,
    traceparent: config.traceparent,
    tracer: config.tracer,
    newId: checked(config.newId ?? randomId),
  };
}

type Numbers = "retryFor" | "stallTimeout" | "dialTimeout" | "connections" | "maxInFlightBytes";

/** Returns a setting that is a number. NaN, which a missing variable of the environment becomes, is none. */
function number(config: Config, name: Numbers): number | undefined {
  const value = config[name];
  if (value === undefined || (typeof value === "number" && value >= 0)) return value;
  throw invalid(`${name} is ${String(value)}, not a number`);
}

/** Returns a setting that is a time, which is more than nothing; a timer of more than 24 days ends at once. */
function time(config: Config, name: Numbers): number | undefined {
  const value = number(config, name);
  if (value === 0) throw invalid(`${name} is 0: nothing would be in time`);
  return value && Math.min(value, 24 * 3600_000);
}

/** A retry later than this could carry out a transaction again whose id the cluster has forgotten. */
const maxRetryFor = 300_000;

/** An empty id would be none: what has it would be stored again by a retry. */
function checked(newId: () => string): () => string {
  return () => {
    let id: string;
    try {
      id = newId();
    } catch (err) {
      throw invalid(`newId failed (${err instanceof Error ? err.message : String(err)})`, err);
    }
    if (id === "") throw invalid("newId returned an empty id");
    return id;
  };
}

/** Parses `HOST:PORT` and `[v6]:PORT`. @internal */
export function parseAddress(text: string): Address {
  if (typeof text !== "string") throw invalid(`an address is ${kind(text)}, not HOST:PORT`);
  if (text.includes("/")) throw invalid("an address is a URL, not HOST:PORT"); // which may have a password
  const colon = text.lastIndexOf(":");
  const port = Number(text.slice(colon + 1));
  let host = text.slice(0, Math.max(colon, 0)).trim();
  if (host.startsWith("[") && host.endsWith("]")) host = host.slice(1, -1);
  if (host === "" || !Number.isInteger(port) || port < 1 || port > 65535) {
    throw invalid(`address ${JSON.stringify(text)} is not HOST:PORT`);
  }
  return { text: text.trim(), host, port };
}

const idBytes = 16;
let pool = Buffer.alloc(0);
let used = 0;

/** Returns 128 random bits in hexadecimal; they are drawn for many ids at a time, since a draw is slow. */
function randomId(): string {
  if (used === pool.length) {
    pool = randomBytes(64 * idBytes);
    used = 0;
  }
  used += idBytes;
  return pool.toString("hex", used - idBytes, used);
}

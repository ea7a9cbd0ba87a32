import type { CallOptions } from "./call.js";

/** What bounds a write, and what it depends on. */
export interface WriteOptions extends CallOptions {
  /**
   * The write takes place only if the session's revision is still this one (0: if there is no such
   * session), and is a `CONFLICT` otherwise. Every answer carries the revision to expect next.
   */
  expect?: number | undefined;
}

/** What an append does beside its messages, with them or not at all. */
export interface AppendOptions extends WriteOptions {
  /** Sets the session's deadline to that many milliseconds from now, in cluster time. */
  ttl?: number | undefined;
  /** `NOT_FOUND` if there is no such session. */
  mustExist?: boolean | undefined;
  /** Is merged into the session's metadata. */
  metadata?: Record<string, string> | undefined;
  /** Keys that are removed from the metadata. */
  unset?: readonly string[] | undefined;
}

/** How fresh a read is: it sees every acknowledged write, or those older than `bounded` ms, or some past state. */
export type Consistency = "linearizable" | "stale" | { bounded: number };

/** What a read selects: the newest messages, or those after or before a seq. */
export interface ReadOptions extends CallOptions {
  /** The n newest messages. */
  last?: number | undefined;
  /** The messages with a seq above it, oldest first. */
  after?: number | undefined;
  /** The messages with a seq below it: the newest of them. */
  before?: number | undefined;
  limit?: number | undefined;
  /** Bounds the payloads together. */
  maxBytes?: number | undefined;
  /** Bounds the estimated tokens together; a tool call is never split from its result. */
  maxTokens?: number | undefined;
  /**
   * A tool call is not split from its result where `last` or `limit` cuts, either: fewer messages are
   * returned then, or, if nothing whole fits, the shortest whole end or beginning.
   */
  whole?: boolean | undefined;
  /** Messages of this time of the cluster's clock and later (number: Unix milliseconds). */
  since?: number | Date | undefined;
  /** Messages before this time. */
  until?: number | Date | undefined;
  /** Return the session's metadata of the same revision, too. */
  metadata?: boolean | undefined;
  consistency?: Consistency | undefined;
}

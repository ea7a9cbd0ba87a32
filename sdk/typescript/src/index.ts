/**
 * The TypeScript client of turnlog, for agent services: it appends to, reads, follows and changes sessions,
 * over RESP3, through any node of a cluster.
 *
 * @packageDocumentation
 */
export type { CallOptions } from "./call.js";
export { Client, type Cluster, type Labels, type SessionsPage } from "./client.js";
export type { Config } from "./config.js";
export type { SessionInfo } from "./decode.js";
export { TurnlogError, type ErrorKind, type Outcome } from "./errors.js";
export { Message, type Data, type MessageRef, type NewMessage } from "./message.js";
export type { Hash } from "./hash.js";
export type { AppendOptions, Consistency, ReadOptions, WriteOptions } from "./options.js";
export type { Key } from "./request.js";
export type { Retention, Side, Trimming } from "./requests.js";
export type { Appended, Edited, History, Popped, Removed, Replaced } from "./results.js";
export type { Session } from "./session.js";
export type { Span, Tracer } from "./tracing.js";
export type { Committed, Transaction } from "./transaction.js";

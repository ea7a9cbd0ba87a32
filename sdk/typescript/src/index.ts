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
export type { Key } from "./request.js";
export type {
  AppendOptions,
  Appended,
  Consistency,
  Edited,
  History,
  Popped,
  ReadOptions,
  Removed,
  Session,
  WriteOptions,
} from "./session.js";

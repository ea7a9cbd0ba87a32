/**
 * Whether a request may be sent again after an attempt that may have reached the server. The attempt
 * that was given up can still be on its way: it may be carried out after the repetition was answered,
 * and after whatever the caller did next. So a late second time must not undo what came in between.
 *
 * - `never`: a late repetition would change what came in between
 * - `identified`: the state machine recognises the ids and answers with the first outcome
 * - `harmless`: it changes nothing
 *
 * @internal
 */
export type Again = "never" | "identified" | "harmless";

/** A command of the server, and whether it may be repeated. @internal */
export interface Verb {
  readonly command: string;
  readonly again: Again;
}

/**
 * Any request is repeated when it surely was not carried out: when it never left this machine, or when
 * the server says so.
 *
 * @internal
 */
export const verbs = {
  append: { command: "TURN.APPEND", again: "identified" },
  replace: { command: "TURN.REPLACE", again: "identified" }, // a mere cut carries no id: see Session.replace
  pop: { command: "TURN.POP", again: "never" }, // takes further messages, and the first ones were never seen
  trim: { command: "TURN.TRIM", again: "never" }, // "keep 20" would drop what was appended since
  edit: { command: "TURN.EDIT", again: "never" }, // overrides an edit made since
  remove: { command: "TURN.REMOVE", again: "never" }, // seqs begin again after a delete, and ids are forgotten
  clear: { command: "TURN.CLEAR", again: "never" }, // removes what was appended since
  delete: { command: "TURN.DELETE", again: "never" }, // removes a session created since
  retain: { command: "TURN.RETAIN", again: "never" }, // overrides a limit set since
  expire: { command: "TURN.EXPIRE", again: "never" }, // overrides a deadline set since
  fork: { command: "TURN.FORK", again: "never" }, // answers EXISTS for its own success
  rename: { command: "TURN.RENAME", again: "never" }, // answers NOT_FOUND for its own success
  setMetadata: { command: "TURN.META", again: "never" }, // overrides values set since
  erase: { command: "TURN.ERASE", again: "never" }, // removes sessions created since
  transaction: { command: "TURN.TX", again: "identified" }, // it carries an id of its own
  setFields: { command: "HSET", again: "never" }, // overrides values set since
  removeFields: { command: "HDEL", again: "never" }, // removes fields set since
  allFields: { command: "HGETALL", again: "harmless" },
  fields: { command: "HMGET", again: "harmless" },
  read: { command: "TURN.READ", again: "harmless" },
  tail: { command: "TURN.TAIL", again: "harmless" },
  info: { command: "TURN.INFO", again: "harmless" },
  metadata: { command: "TURN.META", again: "harmless" },
  list: { command: "TURN.LIST", again: "harmless" },
  cluster: { command: "TURN.CLUSTER", again: "harmless" },
} as const satisfies Record<string, Verb>;

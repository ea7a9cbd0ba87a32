import type { Reply } from "./connection.js";
import { Fields, messages, metadata } from "./decode.js";
import type { Message } from "./message.js";

/** The answer to an append. */
export interface Appended {
  /** The seqs of the first and last message of the turn. */
  firstSeq: number;
  lastSeq: number;
  /** The revision after the append: what `expect` takes next. */
  revision: number;
  /** Messages that the session holds. */
  count: number;
  /**
   * An earlier call with the same ids, or an attempt of this one whose reply was lost, had appended them.
   * The seqs and the revision are then those of that append.
   */
  duplicate: boolean;
}

/** The answer to a replacement: what was appended, and how many messages were removed. */
export interface Replaced extends Appended {
  removed: number;
}

/** The answer to a write that removes messages. */
export interface Removed {
  removed: number;
  count: number;
  revision: number;
}

/** The answer to an edit of one message. */
export interface Edited {
  seq: number;
  /** Messages that the session holds. */
  count: number;
  /** It stays as it was if the message had that payload already. */
  revision: number;
}

/** The answer to a pop: what was removed, in that order. */
export interface Popped {
  messages: Message[];
  /** Messages that are left. */
  count: number;
  revision: number;
}

/**
 * The answer to a read, messages in commit order. For a session that does not exist all of it is zero, so
 * `expect: history.revision` holds as long as what was read is current.
 */
export interface History {
  messages: Message[];
  revision: number;
  incarnation: number;
  /** Seq of the oldest message held, and the highest ever given. */
  firstSeq: number;
  lastSeq: number;
  /** Messages held. */
  count: number;
  /** There are more messages in the direction that was read. */
  more: boolean;
  /** The session's metadata at that revision, if the read asked for it. */
  metadata?: Record<string, string>;
}

/** @internal */
export function appended(reply: Reply): Appended {
  const f = new Fields(reply);
  return {
    firstSeq: f.number("first_seq"),
    lastSeq: f.number("last_seq"),
    revision: f.number("revision"),
    count: f.number("count"),
    duplicate: f.number("duplicate") !== 0,
  };
}

/** @internal */
export function removed(reply: Reply): Removed {
  const f = new Fields(reply);
  return { removed: f.number("removed"), count: f.number("count"), revision: f.number("revision") };
}

/** @internal */
export function history(reply: Reply): History {
  const f = new Fields(reply);
  const known = f.get("metadata");
  return {
    messages: messages(f.get("messages")),
    revision: f.number("revision"),
    incarnation: f.number("incarnation"),
    firstSeq: f.number("first_seq"),
    lastSeq: f.number("last_seq"),
    count: f.number("count"),
    more: f.number("more") !== 0,
    ...(known === null ? {} : { metadata: metadata(known) }),
  };
}

/** @internal */
export function replaced(reply: Reply): Replaced {
  return { ...appended(reply), removed: new Fields(reply).number("removed") };
}

/** @internal */
export function edited(reply: Reply): Edited {
  const f = new Fields(reply);
  return { seq: f.number("seq"), count: f.number("count"), revision: f.number("revision") };
}

/** @internal */
export function popped(reply: Reply): Popped {
  const f = new Fields(reply);
  return { messages: messages(f.get("messages")), count: f.number("count"), revision: f.number("revision") };
}

/** @internal */
export function revision(reply: Reply): number {
  return new Fields(reply).number("revision");
}

/** Whether there was a session that was deleted. @internal */
export function deleted(reply: Reply): boolean {
  return removed(reply).removed > 0;
}

/** How many fields or deadlines were changed. @internal */
export function changed(reply: Reply): number {
  return Number(reply);
}

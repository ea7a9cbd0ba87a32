import { TurnlogError } from "../errors.js";
import type { Message } from "../message.js";
import type { Appended, History } from "../results.js";
import type { Session } from "../session.js";

/** All messages of a session at one revision. @internal */
export interface Snapshot {
  messages: Message[];
  revision: number;
  lastSeq: number;
}

/**
 * Reads a session whole: from the newest page back, so that messages which are appended meanwhile do not matter,
 * and again if others are removed meanwhile. @internal
 */
export async function snapshot(session: Session): Promise<Snapshot> {
  const { messages, revision, lastSeq } = await backwards(session, 1000, () => true);
  return { messages, revision, lastSeq };
}

/**
 * Reads the newest messages of a session as they were together, page by page from the newest back, as long as `more`
 * says so of those that were read. @internal
 */
export async function backwards(
  session: Session,
  limit: number,
  more: (messages: Message[]) => boolean,
): Promise<History> {
  for (;;) {
    const newest = await session.last(limit, { maxBytes });
    let { messages } = newest;
    let page = newest;
    while (page.more && page.messages.length > 0 && more(messages)) {
      page = await session.read({ before: page.messages[0]!.seq, limit, maxBytes });
      if (!onlyGrew(newest, page)) break;
      messages = [...page.messages, ...messages];
    }
    if (onlyGrew(newest, page)) return { ...newest, messages };
  }
}

const maxBytes = 16 << 20;

/** Whether nothing but appends took place between two reads of a session. */
function onlyGrew(first: History, later: History): boolean {
  return (
    first.incarnation === later.incarnation &&
    first.firstSeq === later.firstSeq &&
    first.lastSeq - first.count === later.lastSeq - later.count
  );
}

/** Parses a message, or says which one cannot be: it must never look like an empty history. @internal */
export function parse<T>(session: Session, message: Message): T {
  try {
    return message.json<T>();
  } catch (cause) {
    const where = `message ${message.seq} of session ${JSON.stringify(String(session.key))}`;
    throw new TurnlogError("CORRUPT", `${where} is not JSON: it was written by something else`, { cause });
  }
}

/**
 * Makes a change that depends on what was read: reads and changes again while others are faster.
 *
 * @internal
 */
export async function whileConflict<T>(change: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await change();
    } catch (err) {
      if (!TurnlogError.is(err, "CONFLICT") || err.revision === undefined || attempt === 100) throw err;
    }
  }
}

/**
 * The revision up to which a reader knows a session. It moves on with the reader's own appends, unless
 * another writer's messages lie in between.
 *
 * @internal
 */
export class Known {
  revision: number | undefined;
  #lastSeq = 0;

  read(history: { revision: number; lastSeq: number }): void {
    this.revision = history.revision;
    this.#lastSeq = history.lastSeq;
  }

  appended(a: Appended): void {
    if (this.revision === undefined || a.firstSeq !== this.#lastSeq + 1) return;
    this.revision = a.revision;
    this.#lastSeq = a.lastSeq;
  }

  forget(): void {
    this.revision = undefined;
  }
}

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

/** Reads a session whole: page by page, and again if it changes meanwhile. @internal */
export async function snapshot(session: Session): Promise<Snapshot> {
  for (;;) {
    const messages: Message[] = [];
    let first: History | undefined;
    for (let after = 0; ;) {
      const page = await session.read({ after, limit: 1000, maxBytes: 16 << 20 });
      first ??= page;
      if (page.revision !== first.revision) break; // read it again
      messages.push(...page.messages);
      if (!page.more) return { messages, revision: page.revision, lastSeq: page.lastSeq };
      after = messages.at(-1)!.seq;
    }
  }
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

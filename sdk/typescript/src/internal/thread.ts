import type { Client } from "../client.js";
import { TurnlogError } from "../errors.js";
import { Request } from "../request.js";
import type { Session } from "../session.js";
import { verbs } from "../verb.js";
import { unframe } from "./frame.js";

/** How many fields one request reads; and how many if their values are too large for one reply: of 8 MiB each. */
const fieldsPerRead = 512;
const valuesPerRead = 7;

/** So many steps has a transaction. */
const deletes = 500;

/** The newest checkpoint of a thread, and the revision by which a put is fenced; 0: there is none. @internal */
export interface Head {
  id: string | undefined;
  revision: number;
}

/**
 * The keys of a thread's namespace. Checkpoints are ordered by a session that holds their ids, kept in a
 * hash, and their pending writes are a session for each checkpoint. Names are escaped, so that no thread's
 * keys begin with another's.
 *
 * @internal
 */
export class Thread {
  readonly log: Session;
  readonly #data: string;
  readonly #writes: string;

  constructor(
    readonly client: Client,
    prefix: string,
    readonly id: string,
    readonly ns: string,
  ) {
    const [log, data, writes] = families(prefix, id).map((family) => family + encodeURIComponent(ns));
    this.log = client.session(log!);
    this.#data = data!;
    this.#writes = writes!;
  }

  writes(checkpoint: string): Session {
    return this.client.session(`${this.#writes}:${encodeURIComponent(checkpoint)}`);
  }

  async head(): Promise<Head> {
    const { messages, revision } = await this.log.last(1);
    return { id: messages[0]?.text, revision };
  }

  /** Reads fields of the hash, null for those that it does not have. */
  async get(fields: readonly string[]): Promise<(Buffer | null)[]> {
    const reads = parts(fields, fieldsPerRead).map((some) =>
      this.#read(some).catch(async (err) => {
        if (!TurnlogError.is(err, "TOO_LARGE")) throw err;
        return (await Promise.all(parts(some, valuesPerRead).map((few) => this.#read(few)))).flat();
      }),
    );
    return (await Promise.all(reads)).flat();
  }

  async #read(fields: readonly string[]): Promise<(Buffer | null)[]> {
    const reply = await this.client.send(new Request(verbs.fields, this.#data, ...fields), {});
    return reply as (Buffer | null)[];
  }

  /**
   * Stores a checkpoint's fields and makes it the newest one, at once, if the thread is still at that
   * revision. Returns the revision after it.
   */
  async put(id: string, fields: [string, Buffer][], expect: number | undefined): Promise<number> {
    const log = this.log.key as string;
    const put = this.client.transaction().setFields(this.#data, Object.fromEntries(fields));
    if (expect !== undefined) put.ifRevision(log, expect);
    return (await put.append(log, { id, data: id }).commit()).steps[1].revision;
  }

  /** Takes apart a stored value, or says which one cannot be. */
  unframe<T>(data: Uint8Array): { header: T; parts: Uint8Array[] } {
    try {
      return unframe<T>(data);
    } catch (cause) {
      const message = `a value of thread ${JSON.stringify(this.id)} is no checkpoint: something else wrote it`;
      throw new TurnlogError("CORRUPT", message, { cause });
    }
  }

  /** Returns the namespaces of a thread, or of all threads. */
  static async *all(client: Client, prefix: string, id?: string): AsyncGenerator<Thread, void, undefined> {
    const logs = `${prefix}log:`;
    const which = id === undefined ? logs : families(prefix, id)[0];
    for await (const { key } of client.sessions(which)) {
      const [thread, ns] = key.slice(logs.length).split(":").map(decodeURIComponent);
      yield new Thread(client, prefix, thread!, ns!);
    }
  }

  /** Removes a thread. A run that begins meanwhile is removed whole, or it stays. */
  static async delete(client: Client, prefix: string, id: string): Promise<void> {
    const begin = families(prefix, id)[2];
    const written: string[] = [];
    for await (const { key } of client.sessions(begin)) written.push(key);
    const left = new Set(written.map((key) => decodeURIComponent(key.slice(begin.length).split(":")[0]!)));
    for await (const thread of Thread.all(client, prefix, id)) {
      await client.transaction().delete(thread.log.key).delete(thread.#data).commit();
      left.delete(thread.ns);
    }
    for (const ns of left) {
      // what a copy that failed has left
      const thread = new Thread(client, prefix, id, ns);
      await client
        .transaction()
        .ifAbsent(thread.log.key)
        .delete(thread.#data)
        .commit()
        .catch((err) => {
          if (!TurnlogError.is(err, "CONFLICT")) throw err;
        });
    }
    for (let i = 0; i < written.length; i += deletes) {
      const gone = client.transaction();
      for (const key of written.slice(i, i + deletes)) gone.delete(key);
      await gone.commit();
    }
  }
}

function parts<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size));
}

/** What the keys of a thread begin with: of the order of checkpoints, of checkpoints, of writes. */
function families(prefix: string, id: string): [string, string, string] {
  const thread = encodeURIComponent(id);
  return [`${prefix}log:${thread}:`, `${prefix}data:${thread}:`, `${prefix}writes:${thread}:`];
}

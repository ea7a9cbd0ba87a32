import type { CallOptions } from "./call.js";
import type { Client } from "./client.js";
import type { Reply } from "./connection.js";
import { fields, malformed } from "./decode.js";
import type { Data } from "./message.js";
import { Request, type Arg, type Key } from "./request.js";
import { encodeKey, getFields } from "./requests.js";
import { verbs } from "./verb.js";

/**
 * A handle on the hash of one key: named fields of up to 8 MiB each, for state beside messages that is more
 * than metadata may be. A transaction changes hashes and sessions at once.
 */
export class Hash {
  readonly key: Key;
  readonly #client: Client;
  readonly #key: Arg;

  /** @internal */
  constructor(client: Client, key: Key) {
    this.key = key;
    this.#client = client;
    this.#key = encodeKey(key);
  }

  /**
   * Sets fields, creating the hash if needed, and returns how many are new. Like any transaction, it is sent
   * again safely when its reply is lost.
   */
  async set(values: Record<string, Data>, options: CallOptions = {}): Promise<number> {
    return (await this.#client.transaction().setFields(this.#key, values).commit(options)).steps[0];
  }

  /** Removes fields and returns how many there were. A hash without fields does not exist. */
  async remove(names: readonly string[], options: CallOptions = {}): Promise<number> {
    return (await this.#client.transaction().removeFields(this.#key, names).commit(options)).steps[0];
  }

  /** Returns those of the fields that exist. */
  async get(names: readonly string[], options: CallOptions = {}): Promise<Record<string, Uint8Array>> {
    const reply = await this.#client.send(getFields(this.#key, names), options);
    if (!Array.isArray(reply) || reply.length !== names.length) {
      throw malformed("another number of fields");
    }
    return fields(names.flatMap((name, i) => (reply[i] === null ? [] : [name, reply[i] as Reply])));
  }

  /** Returns all fields, none if there is no such hash; more than 64 MiB is `TOO_LARGE`. */
  async all(options: CallOptions = {}): Promise<Record<string, Uint8Array>> {
    return fields(await this.#client.send(new Request(verbs.allFields, this.#key), options));
  }
}

/**
 * Persistence of chats for the Vercel AI SDK on turnlog.
 *
 * @packageDocumentation
 */
import { randomUUID } from "node:crypto";
import type { UIMessage } from "ai";
import type { Client } from "./client.js";
import { TurnlogError } from "./errors.js";
import { parse, snapshot, whileConflict, type Snapshot } from "./internal/history.js";
import { Message } from "./message.js";
import type { Session } from "./session.js";

/** What a TurnlogChatStore is made from. */
export interface TurnlogChatStoreOptions {
  client: Client;
  /** Comes before the chat's id in the key of its turnlog session; default `chat:`. */
  prefix?: string | undefined;
  /** Milliseconds after the last save after which a chat is deleted; default: never. */
  ttl?: number | undefined;
}

/** A chat as it was when it was opened. */
export interface OpenChat<M extends UIMessage> {
  readonly id: string;
  readonly messages: M[];
  /** Saves the chat's messages; a `CONFLICT` if another request has saved it since it was opened. */
  save(messages: M[]): Promise<void>;
}

const streamKey = "activeStreamId";

/**
 * Keeps chats as sessions of turnlog, one message a UIMessage. A save writes only what has changed: new
 * messages, and those from the first one on that differs from what is stored.
 */
export class TurnlogChatStore<M extends UIMessage = UIMessage> {
  readonly #client: Client;
  readonly #prefix: string;
  readonly #ttl: number | undefined;

  constructor(options: TurnlogChatStoreOptions) {
    this.#client = options.client;
    this.#prefix = options.prefix ?? "chat:";
    this.#ttl = options.ttl;
  }

  #session(chatId: string): Session {
    return this.#client.session(this.#prefix + chatId);
  }

  /** Creates a chat and returns its id. */
  async createChat(id: string = randomUUID()): Promise<string> {
    await this.#session(id).setMetadata({ createdBy: "turnlog/ai-sdk" }, { expect: 0 });
    return id;
  }

  /** Returns the messages of a chat, none if there is no such chat. */
  async loadChat(chatId: string): Promise<M[]> {
    return (await this.#load(chatId)).messages;
  }

  async #load(chatId: string): Promise<{ stored: Snapshot; messages: M[] }> {
    const session = this.#session(chatId);
    const stored = await snapshot(session);
    return { stored, messages: stored.messages.map((m) => parse<M>(session, m)) };
  }

  /** Loads a chat so that it can be saved on the condition that no other request has saved it meanwhile. */
  async openChat(chatId: string): Promise<OpenChat<M>> {
    const { stored, messages } = await this.#load(chatId);
    let base = stored;
    const save = async (changed: M[]): Promise<void> => {
      await whileConflict(async () => {
        base = await this.#write(chatId, base, changed).catch(async (err) => {
          if (!TurnlogError.is(err, "CONFLICT")) throw err;
          const now = await snapshot(this.#session(chatId));
          if (sameMessages(base, now))
            base = now; // only the metadata has changed
          else
            throw new TurnlogError(
              "CONFLICT",
              `chat ${chatId} was saved by another request; nothing was changed`,
            );
          throw err;
        });
      });
    };
    return { id: chatId, messages, save };
  }

  /**
   * Saves the messages of a chat. Of the stored ones only the last may be replaced: a `CONFLICT` if others
   * would be dropped, which another request has saved meanwhile. Use `openChat` to edit earlier messages.
   */
  async saveChat({ chatId, messages }: { chatId: string; messages: M[] }): Promise<void> {
    await whileConflict(async () => {
      const { stored, messages: old } = await this.#load(chatId);
      const dropped = old.slice(0, -1).find((m, i) => m.id !== messages[i]?.id);
      if (dropped || messages.length < old.length) {
        throw new TurnlogError(
          "CONFLICT",
          `chat ${chatId} has stored messages that the saved ones do not continue; nothing was changed`,
        );
      }
      await this.#write(chatId, stored, messages);
    });
  }

  /** Makes the stored messages those given, if the session is still as `stored` says, and returns how it is then. */
  async #write(chatId: string, stored: Snapshot, messages: M[]): Promise<Snapshot> {
    const texts = messages.map((m) => JSON.stringify(m));
    const differs = stored.messages.findIndex((m, i) => m.text !== texts[i]);
    const same = differs < 0 ? stored.messages.length : differs;
    const rest = texts.slice(same).map((data) => ({ data }));
    const session = this.#session(chatId);
    const first = stored.messages[same];
    if (!first && rest.length === 0) return stored;
    const { firstSeq, lastSeq, revision } = first
      ? await session.replace(first.seq, rest, { expect: stored.revision })
      : await session.append(rest, { expect: stored.revision, ttl: this.#ttl });
    const written = rest.map(({ data }, i) => new Message(firstSeq + i, 0, "", Buffer.from(data)));
    return { messages: [...stored.messages.slice(0, same), ...written], revision, lastSeq };
  }

  /** Deletes a chat and reports whether there was one. */
  async deleteChat(chatId: string): Promise<boolean> {
    return this.#session(chatId).delete();
  }

  /** Notes which stream of a chat clients can resume; `null`: none. */
  async setActiveStream(chatId: string, streamId: string | null): Promise<void> {
    const session = this.#session(chatId);
    if (streamId === null) await session.setMetadata({}, { unset: [streamKey] });
    else await session.setMetadata({ [streamKey]: streamId });
  }

  /** Returns the stream of a chat that clients can resume, `null` if there is none. */
  async activeStream(chatId: string): Promise<string | null> {
    return (await this.#session(chatId).metadata())[streamKey] ?? null;
  }
}

function sameMessages(a: Snapshot, b: Snapshot): boolean {
  return a.messages.length === b.messages.length && a.messages.every((m, i) => m.text === b.messages[i]!.text);
}

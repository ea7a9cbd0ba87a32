/**
 * A chat message history for LangChain.js on turnlog.
 *
 * @packageDocumentation
 */
import { BaseListChatMessageHistory } from "@langchain/core/chat_history";
import {
  AIMessage,
  HumanMessage,
  mapChatMessagesToStoredMessages,
  mapStoredMessagesToChatMessages,
  type BaseMessage,
  type StoredMessage,
} from "@langchain/core/messages";
import type { Client } from "./client.js";
import { Known, parse, snapshot } from "./internal/history.js";
import type { Session } from "./session.js";

/** What a TurnlogChatMessageHistory is made from. */
export interface TurnlogChatMessageHistoryInput {
  client: Client;
  /** The conversation; it is the key of the turnlog session, after `prefix`. */
  sessionId: string;
  prefix?: string | undefined;
  /** How many of the newest messages `getMessages` returns; default: all. */
  limit?: number | undefined;
  /** Milliseconds after the last turn after which the conversation is deleted; default: never. */
  ttl?: number | undefined;
  /**
   * Reject a turn with `CONFLICT` if another writer has changed the conversation since this history was
   * last read. Default: turns of several writers are all kept, in the order in which they arrive.
   */
  conditional?: boolean | undefined;
}

/**
 * A conversation as a session of turnlog, its messages in the JSON form of LangChain's other histories.
 * The messages of one `addMessages` are a turn: stored whole and once, or not at all.
 */
export class TurnlogChatMessageHistory extends BaseListChatMessageHistory {
  override lc_namespace = ["turnlog", "langchain"];
  readonly #session: Session;
  readonly #input: TurnlogChatMessageHistoryInput;
  readonly #known = new Known();

  constructor(input: TurnlogChatMessageHistoryInput) {
    super();
    this.#input = input;
    this.#session = input.client.session((input.prefix ?? "") + input.sessionId);
  }

  override async getMessages(): Promise<BaseMessage[]> {
    const { limit } = this.#input;
    const history = limit === undefined ? await snapshot(this.#session) : await this.#session.last(limit);
    this.#known.read(history);
    return mapStoredMessagesToChatMessages(history.messages.map((m) => parse<StoredMessage>(this.#session, m)));
  }

  override async addMessages(messages: BaseMessage[]): Promise<void> {
    if (messages.length === 0) return;
    const turn = mapChatMessagesToStoredMessages(messages).map((data) => ({ data }));
    const expect = this.#input.conditional ? this.#known.revision : undefined;
    this.#known.appended(await this.#session.append(turn, { expect, ttl: this.#input.ttl }));
  }

  override addMessage(message: BaseMessage): Promise<void> {
    return this.addMessages([message]);
  }

  override addUserMessage(message: string): Promise<void> {
    return this.addMessages([new HumanMessage(message)]);
  }

  override addAIMessage(message: string): Promise<void> {
    return this.addMessages([new AIMessage(message)]);
  }

  override async clear(): Promise<void> {
    await this.#session.clear();
    this.#known.forget();
  }
}

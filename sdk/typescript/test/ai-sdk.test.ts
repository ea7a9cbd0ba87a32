import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { UIMessage } from "ai";
import { TurnlogError, type Client } from "turnlog";
import { TurnlogChatStore } from "turnlog/ai-sdk";
import { Cluster } from "./cluster.js";

let cluster: Cluster;
let client: Client;
before(async () => {
  cluster = await Cluster.start(3);
  client = cluster.client();
});
after(() => cluster.stop());

const message = (id: string, text: string, role: UIMessage["role"] = "user"): UIMessage => ({
  id,
  role,
  parts: [{ type: "text", text }],
});
const conflict = (err: unknown): boolean => TurnlogError.is(err, "CONFLICT");

test("a chat is saved as it grows, and only what has changed is written", async () => {
  const store = new TurnlogChatStore({ client, ttl: 3_600_000 });
  const chatId = await store.createChat();
  assert.deepEqual(await store.loadChat(chatId), []);
  const messages = [message("1", "hi"), message("2", "hel", "assistant")];
  await store.saveChat({ chatId, messages });
  messages[1] = { ...message("2", "hello", "assistant"), metadata: { tokens: 3 } };
  messages.push(message("3", "how are you?"));
  await store.saveChat({ chatId, messages });
  await store.saveChat({ chatId, messages });
  assert.deepEqual(await store.loadChat(chatId), messages);
  const info = await client.session(`chat:${chatId}`).info();
  assert.deepEqual([info.count, info.lastSeq], [3, 4]); // the last message was written twice, the first once
  assert.ok(info.expiresAt > 0);
  await assert.rejects(store.createChat(chatId), conflict);
  assert.equal(await store.deleteChat(chatId), true);
});

test("a save does not drop what another request has saved", async () => {
  const store = new TurnlogChatStore({ client });
  await store.saveChat({ chatId: "two", messages: [message("1", "hi"), message("2", "a", "assistant")] });
  await store.saveChat({
    chatId: "two",
    messages: [message("1", "hi"), message("2", "b", "assistant"), message("3", "x")],
  });
  await assert.rejects(
    store.saveChat({ chatId: "two", messages: [message("1", "hi"), message("2", "c", "assistant")] }),
    conflict,
  );
  await assert.rejects(
    store.saveChat({ chatId: "two", messages: [message("1", "hi"), message("9", "other"), message("3", "x")] }),
    conflict,
  );
  assert.equal((await store.loadChat("two")).length, 3);
});

test("an open chat can be edited anywhere, unless another request was faster", async () => {
  const store = new TurnlogChatStore({ client });
  await store.saveChat({ chatId: "edit", messages: ["1", "2", "3"].map((id) => message(id, id)) });
  const a = await store.openChat("edit");
  const b = await store.openChat("edit");
  await store.setActiveStream("edit", "stream-1"); // no change of the messages
  assert.equal(await store.activeStream("edit"), "stream-1");
  await a.save([message("1", "1"), message("2", "edited")]);
  await a.save([message("1", "1"), message("2", "edited"), message("4", "more")]);
  await assert.rejects(b.save([message("1", "1")]), conflict);
  assert.deepEqual(await store.loadChat("edit"), [
    message("1", "1"),
    message("2", "edited"),
    message("4", "more"),
  ]);
  await a.save([]);
  assert.deepEqual(await store.loadChat("edit"), []);
  await store.setActiveStream("edit", null);
  assert.equal(await store.activeStream("edit"), null);
});

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { RunnableLambda, RunnableWithMessageHistory } from "@langchain/core/runnables";
import { TurnlogError, type Client } from "turnlog";
import { TurnlogChatMessageHistory } from "turnlog/langchain";
import { Cluster } from "./cluster.js";

let cluster: Cluster;
let client: Client;
before(async () => {
  cluster = await Cluster.start(3);
  client = cluster.client();
});
after(() => cluster.stop());

const contents = (messages: BaseMessage[]): unknown[] => messages.map((m) => m.content);

test("messages come back as they were, tool calls and their results included", async () => {
  const history = new TurnlogChatMessageHistory({ client, sessionId: "whole" });
  const turn = [
    new HumanMessage({ content: "weather? 🌦", id: "h-1", name: "ann" }),
    new AIMessage({
      content: "",
      tool_calls: [{ id: "c-1", name: "weather", args: { city: "Köln" }, type: "tool_call" }],
    }),
    new ToolMessage({ content: "rain", tool_call_id: "c-1", status: "success" }),
    new AIMessage({
      content: [{ type: "text", text: "rain\u0000" }],
      response_metadata: { model_name: "m", logprobs: null },
    }),
  ];
  await history.addMessages(turn);
  await history.addUserMessage("thanks");
  await history.addAIMessage("welcome");
  const read = await history.getMessages();
  assert.deepEqual(
    read.slice(0, 4).map((m) => m.toDict()),
    turn.map((m) => m.toDict()),
  );
  assert.deepEqual(contents(read.slice(4)), ["thanks", "welcome"]);
  const short = new TurnlogChatMessageHistory({ client, sessionId: "whole", limit: 2 });
  assert.deepEqual(contents(await short.getMessages()), ["thanks", "welcome"]);
  await history.clear();
  assert.deepEqual(await history.getMessages(), []);
});

test("sixty turns of twenty chains at once: none lost, none torn", async () => {
  const chain = new RunnableWithMessageHistory({
    runnable: RunnableLambda.from(
      async (messages: BaseMessage[]) => new AIMessage(`answer to ${String(messages.at(-1)!.content)}`),
    ),
    getMessageHistory: (sessionId: string) => new TurnlogChatMessageHistory({ client, sessionId }),
  });
  const talk = async (who: number): Promise<void> => {
    for (let turn = 0; turn < 3; turn++) {
      const history = new TurnlogChatMessageHistory({ client, sessionId: "chain" });
      const question = `${who}/${turn}`;
      await history.addMessages([new HumanMessage(question), new AIMessage(`answer to ${question}`)]);
    }
  };
  await Promise.all(Array.from({ length: 20 }, (_, who) => talk(who)));
  const stored = contents(await new TurnlogChatMessageHistory({ client, sessionId: "chain" }).getMessages());
  assert.equal(stored.length, 120);
  for (let i = 0; i < 120; i += 2) assert.equal(stored[i + 1], `answer to ${stored[i] as string}`);
  assert.equal(new Set(stored).size, 120);

  await chain.invoke([new HumanMessage("my name is Ann")], { configurable: { sessionId: "runnable" } });
  await chain.invoke([new HumanMessage("my name?")], { configurable: { sessionId: "runnable" } });
  const runnable = await new TurnlogChatMessageHistory({ client, sessionId: "runnable" }).getMessages();
  assert.deepEqual(contents(runnable), [
    "my name is Ann",
    "answer to my name is Ann",
    "my name?",
    "answer to my name?",
  ]);
});

test("a conditional history does not overwrite what another worker has said", async () => {
  const a = new TurnlogChatMessageHistory({ client, sessionId: "conditional", conditional: true });
  const b = new TurnlogChatMessageHistory({ client, sessionId: "conditional", conditional: true });
  await a.getMessages();
  await b.getMessages();
  await a.addUserMessage("from a");
  await a.addAIMessage("to a");
  await assert.rejects(b.addUserMessage("from b"), (err) => TurnlogError.is(err, "CONFLICT"));
  await b.getMessages();
  await b.addUserMessage("from b");
  await assert.rejects(a.addUserMessage("late"), (err) => TurnlogError.is(err, "CONFLICT"));
});

test("what is no message of LangChain is an error, never an empty history", async () => {
  await client.session("foreign").append({ data: "not JSON" });
  const history = new TurnlogChatMessageHistory({ client, sessionId: "foreign" });
  await assert.rejects(history.getMessages(), (err) => TurnlogError.is(err, "CORRUPT"));
});

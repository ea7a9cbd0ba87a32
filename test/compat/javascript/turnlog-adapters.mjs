// The client and the adapters of turnlog's own TypeScript package, for driver.mjs: as sdk/typescript/check.sh
// --build left it, with the frameworks that its tests use. Their client knows the one address that the other
// libraries have, too.
import { createRequire } from "node:module";

export const require = createRequire(new URL("../../../sdk/typescript/package.json", import.meta.url));
const { Client } = require("turnlog");

const ttl = 3600_000;

function client(url) {
  const at = new URL(url);
  return new Client({ addrs: at.host, namespace: at.pathname.slice(1) });
}

// Each message is a request that reads the conversation, and adds to it under an id if nothing has changed since.
function sessions(config, url) {
  const shared = client(url);
  return (name) => {
    const session = shared.session(`client:${name}`);
    return {
      async add(text, id) {
        const { revision } = await session.last(1);
        await session.append({ id, data: { role: "user", content: text } }, { expect: revision, ttl });
      },
      async texts() {
        const texts = [];
        for await (const message of session.all()) texts.push(message.json().content);
        return texts;
      },
    };
  };
}

// A history for each request, which adds if nothing has changed since it was read.
function langchain(config, url) {
  const { HumanMessage } = require("@langchain/core/messages");
  const { TurnlogChatMessageHistory } = require("turnlog/langchain");
  const shared = client(url);
  return (name) => {
    const history = (more) =>
      new TurnlogChatMessageHistory({ client: shared, sessionId: name, prefix: "langchain:", ttl, ...more });
    return {
      async add(text) {
        const request = history({ conditional: true, limit: 1 });
        await request.getMessages();
        await request.addMessages([new HumanMessage(text)]);
      },
      texts: async () => (await history().getMessages()).map((m) => m.content),
    };
  };
}

// A graph that answers nothing; each message is an invocation.
function langgraph(config, url) {
  const { Annotation, END, START, StateGraph } = require("@langchain/langgraph");
  const { TurnlogSaver } = require("turnlog/langgraph");
  const state = Annotation.Root({ said: Annotation({ reducer: (a, b) => a.concat(b), default: () => [] }) });
  const graph = new StateGraph(state)
    .addNode("answer", () => ({}))
    .addEdge(START, "answer")
    .addEdge("answer", END)
    .compile({ checkpointer: new TurnlogSaver({ client: client(url) }) });
  return (name) => {
    const thread = { configurable: { thread_id: name } };
    return {
      add: (text) => graph.invoke({ said: [text] }, thread),
      texts: async () => (await graph.getState(thread)).values.said ?? [],
    };
  };
}

// A transaction of history for each message, under an id.
function openaiAgents(config, url) {
  const { TurnlogSession } = require("turnlog/openai-agents");
  const shared = client(url);
  return (name) => {
    const session = new TurnlogSession({ client: shared, sessionId: name, prefix: "agents:", ttl });
    const item = (text) => ({ type: "message", role: "user", content: text });
    return {
      add: (text, id) =>
        session.applyHistoryTransaction({ operationId: id, transaction: { type: "append_items", items: [item(text)] } }),
      texts: async () => (await session.getItems()).map((i) => i.content),
    };
  };
}

// The chat is opened for each message, and saved if no other request has saved it meanwhile.
function aiSDK(config, url) {
  const { TurnlogChatStore } = require("turnlog/ai-sdk");
  const store = new TurnlogChatStore({ client: client(url), ttl });
  return (name) => ({
    async add(text, id) {
      const chat = await store.openChat(name);
      await chat.save([...chat.messages, { id, role: "user", parts: [{ type: "text", text }] }]);
    },
    texts: async () => (await store.loadChat(name)).map((m) => m.parts[0].text),
  });
}

export const libraries = {
  "client for TypeScript": { open: sessions, packages: ["@redis/client"] },
  "TypeScript langchain": { open: langchain, packages: ["@langchain/core"] },
  "TypeScript langgraph": { open: langgraph, packages: ["@langchain/langgraph"] },
  "TypeScript openai-agents": { open: openaiAgents, packages: ["@openai/agents-core"] },
  "TypeScript ai-sdk": { open: aiSDK, packages: ["ai"] },
};

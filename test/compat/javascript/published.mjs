// Chat histories of published libraries, for driver.mjs.
import { createRequire } from "node:module";
import { HumanMessage } from "@langchain/core/messages";

export const require = createRequire(import.meta.url);

const conversation = (history) => ({
  add: (text, id) => history.addMessage(new HumanMessage({ content: text, id })),
  texts: async () => (await history.getMessages()).map((m) => m.content),
});

// @langchain/redis: node-redis 4, whose client the library makes and shares. It must
// be connected before several conversations use it at once.
async function nodeRedis(config, url) {
  const { RedisChatMessageHistory } = await import("@langchain/redis");
  const shared = { url }; // the library keeps one client for each such object
  const history = (name) => new RedisChatMessageHistory({ sessionId: name, sessionTTL: 3600, config: shared });
  const first = history(config.prefix);
  first.client.on("error", () => {}); // commands report them
  await first.getMessages();
  return (name) => conversation(history(name));
}

// The history on ioredis of @langchain/community, on one client as the
// documentation recommends for servers.
async function ioredis(config, url) {
  const { RedisChatMessageHistory } = await import("@langchain/community/stores/message/ioredis");
  const { Redis } = await import("ioredis");
  const options = config.retry ? {} : { autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0 };
  const client = new Redis(url, options);
  client.on("error", () => {}); // commands report them
  return (name) => conversation(new RedisChatMessageHistory({ sessionId: name, sessionTTL: 3600, client }));
}

export const libraries = {
  "@langchain/redis": { open: nodeRedis, packages: ["@langchain/redis", "redis"] },
  "@langchain/community ioredis": { open: ioredis, packages: ["@langchain/community", "ioredis"] },
};

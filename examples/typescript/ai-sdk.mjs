// An agent for orders with the Vercel AI SDK, whose chat is in turnlog.
//
//	node ai-sdk.mjs ADDRESSES CHAT
import { convertToModelMessages, generateText, isStepCount, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { Client } from "turnlog";
import { TurnlogChatStore } from "turnlog/ai-sdk";
import { z } from "zod";
import { lookUp, orderIn, serve } from "./requests.mjs";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** In place of a model: it looks up the order that a question names, and counts the questions so far. */
const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const last = prompt.at(-1);
    const order = last.role === "user" ? orderIn(last.content[0].text) : undefined;
    if (order) {
      const call = {
        type: "tool-call",
        toolCallId: `call-${order}`,
        toolName: "lookUp",
        input: JSON.stringify({ order }),
      };
      return { content: [call], finishReason: { unified: "tool-calls", raw: "" }, usage, warnings: [] };
    }
    const found = last.role === "tool" ? last.content[0].output.value : "Which order?";
    const asked = prompt.filter((message) => message.role === "user").length;
    const content = [{ type: "text", text: `${found} Questions so far: ${asked}.` }];
    return { content, finishReason: { unified: "stop", raw: "" }, usage, warnings: [] };
  },
});

const tools = {
  lookUp: tool({
    description: "Says where an order is.",
    inputSchema: z.object({ order: z.string() }),
    execute: async ({ order }) => lookUp(order),
  }),
};

const [addrs, chatId] = process.argv.slice(2);
const client = new Client({ addrs });
const store = new TurnlogChatStore({ client });

/** Answers a request once, however often it is made: the question and its answer are saved together. */
async function answer(request, question) {
  const chat = await store.openChat(chatId);
  const at = chat.messages.findIndex((message) => message.id === request);
  if (at >= 0) return chat.messages[at + 1].parts[0].text;
  const messages = [...chat.messages, { id: request, role: "user", parts: [{ type: "text", text: question }] }];
  const { text } = await generateText({
    model,
    tools,
    messages: await convertToModelMessages(messages),
    stopWhen: isStepCount(5),
  });
  messages.push({ id: `${request}:answer`, role: "assistant", parts: [{ type: "text", text }] });
  await chat.save(messages); // a CONFLICT if another request was faster: ask again
  return text;
}

await serve(answer);
await client.close();

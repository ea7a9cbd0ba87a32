// An agent for orders with the OpenAI Agents SDK, whose conversation is in turnlog.
//
//	node openai-agents.mjs ADDRESSES CONVERSATION
import { Agent, Usage, run, setTracingDisabled, tool } from "@openai/agents-core";
import { Client } from "turnlog";
import { TurnlogSession } from "turnlog/openai-agents";
import { z } from "zod";
import { lookUp, orderIn, serve } from "./requests.mjs";

/** In place of a model: it looks up the order that a question names, and counts the questions so far. */
class StubModel {
  async getResponse({ input }) {
    const last = input.at(-1);
    return {
      usage: new Usage(),
      output: [
        last.type === "function_call_result" ? this.#say(input, last.output.text) : this.#ask(input, last),
      ],
    };
  }

  #ask(input, last) {
    const order = orderIn(JSON.stringify(last.content));
    if (!order) return this.#say(input, "Which order?");
    return {
      type: "function_call",
      callId: `call-${order}`,
      name: "look_up",
      arguments: JSON.stringify({ order }),
      status: "completed",
    };
  }

  #say(input, found) {
    const asked = input.filter((item) => item.role === "user").length;
    const text = `${found} Questions so far: ${asked}.`;
    return {
      type: "message",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text }],
    };
  }
}

setTracingDisabled(true);
const agent = new Agent({
  name: "orders",
  model: new StubModel(),
  tools: [
    tool({
      name: "look_up",
      description: "Says where an order is.",
      parameters: z.object({ order: z.string() }),
      execute: ({ order }) => lookUp(order),
    }),
  ],
});

const [addrs, sessionId] = process.argv.slice(2);
const client = new Client({ addrs });
const session = new TurnlogSession({ client, sessionId, prefix: "agent:" });

/** Answers a request once, however often it is made. */
async function answer(request, question) {
  const items = await session.getItems();
  const at = items.findIndex((item) => item.providerData?.request === request);
  if (at >= 0) {
    const done = items.slice(at).find((item) => item.role === "assistant");
    if (done) return done.content[0].text;
    // Its agent was killed on the way: what it left goes, unless another agent has gone on meanwhile.
    const begun = { type: "replace_suffix", expectedSuffix: items.slice(at), replacement: [] };
    await session.applyHistoryTransaction({
      operationId: `${request}: again after ${items.length}`,
      transaction: begun,
    });
  }
  const input = { type: "message", role: "user", content: question, providerData: { request } };
  return (await run(agent, [input], { session })).finalOutput;
}

await serve(answer);
await client.close();

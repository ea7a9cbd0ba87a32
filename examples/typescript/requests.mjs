// What both agents share: the questions that they are asked, and what they can look up.
import { createInterface } from "node:readline";

/** Answers each line of the input; "#ID question" gives the request an id, by which it can be repeated. */
export async function serve(answer) {
  for await (const line of createInterface({ input: process.stdin })) {
    const [, request = crypto.randomUUID(), question] = /^(?:#(\S+) )?(.*)$/.exec(line);
    console.log("agent:", await answer(request, question));
  }
}

/** Says where an order is. */
export function lookUp(order) {
  console.log(`tool: looking up ${order}`);
  return `Order ${order} is on its way.`;
}

/** The order that a question names. */
export function orderIn(question) {
  return /order (\w+)/.exec(question)?.[1];
}

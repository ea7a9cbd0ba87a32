// Holds a JavaScript chat history to the turnlog contract:
//
//   turnlog verify 'exec:npx tsx turnlog_contract.ts STORE'
//
// STORE is langchain-memory, or MODULE#FUNCTION: a module that exports a function
// from a session key (and a time to live in seconds, or undefined) to what an
// application would use for it, a LangChain BaseListChatMessageHistory or an OpenAI
// Agents Session.
//
// Options: --shared (other processes that run the same command see the same data),
// --ttl (the function heeds its second argument), --can=NAME (the store promises
// this too, such as "linearizable"), --max-bytes=N (longer messages are refused).
//
// It speaks JSON lines on standard input and output; docs/contract.md describes
// them. It needs the library under test, nothing else.

import { createInterface } from "node:readline";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

interface WireCall { id: string; name: string; arguments: string }
interface WireMessage {
  id?: string; role: string; content: string; content_base64?: string;
  tool_calls?: WireCall[]; tool_call_id?: string;
}
interface Request {
  n: number; op: string; session?: string; session_base64?: string;
  turn?: WireMessage[]; ttl_ms?: number; last?: number;
}
interface Store {
  can: string[];
  add(session: string, turn: WireMessage[], ttl?: number): Promise<void>;
  load(session: string, last?: number): Promise<WireMessage[]>;
  clear(session: string): Promise<void>;
  pop?(session: string): Promise<WireMessage[]>;
}
type Factory = (session: string, ttl?: number) => any;

/** The store cannot hold such a message. Nothing was changed. */
class Refused extends Error {}

// JavaScript's strings hold lone surrogates, which the suite sends as the three
// bytes that an encoder makes of them which does not check; other bytes that are
// not UTF-8 they cannot hold.
function textOf(base64: string): string {
  const bytes = Buffer.from(base64, "base64");
  let text = "";
  for (let i = 0; i < bytes.length;) {
    if (bytes[i] === 0xed && bytes[i + 1] >= 0xa0 && i + 2 < bytes.length) {
      text += String.fromCharCode(0xd000 | ((bytes[i + 1] & 0x3f) << 6) | (bytes[i + 2] & 0x3f));
      i += 3;
      continue;
    }
    let end = i + 1;
    while (end < bytes.length && bytes[end] !== 0xed) end++;
    try {
      text += new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes.subarray(i, end));
    } catch {
      throw new Refused("a JavaScript string cannot hold these bytes");
    }
    i = end;
  }
  return text;
}

function contentOf(m: WireMessage): string {
  return m.content_base64 === undefined ? m.content : textOf(m.content_base64);
}

// LangChain.js holds the arguments of a tool call as an object, whose numbers are
// JavaScript's: beyond 2^53 they would lose digits before any history sees them.
function argumentsOf(json: string): any {
  const integers = json.replace(/"(?:[^"\\]|\\.)*"/g, '""').match(/-?\d+(?![\d.eE])/g) ?? [];
  if (integers.some((i) => BigInt(i) !== BigInt(Number(i)))) {
    throw new Refused("a JavaScript number cannot hold these digits");
  }
  return JSON.parse(json);
}

const loneSurrogate = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

function wire(role: string, text: string, calls: WireCall[] = [], result = ""): WireMessage {
  const m: WireMessage = { role, content: text };
  if (loneSurrogate.test(text)) {
    m.content = "";
    m.content_base64 = Buffer.concat(Array.from(text, (c) => {
      const code = c.codePointAt(0)!;
      const lone = c.length === 1 && code >= 0xd800 && code <= 0xdfff;
      return lone ? Buffer.from([0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f)]) : Buffer.from(c);
    })).toString("base64");
  }
  if (calls.length > 0) m.tool_calls = calls;
  if (result) m.tool_call_id = result;
  return m;
}

async function langChain(history: Factory): Promise<Store> {
  const lc = await import("@langchain/core/messages");
  const message = (m: WireMessage) => {
    const fields: any = { content: contentOf(m), id: m.id || undefined };
    switch (m.role) {
      case "user": return new lc.HumanMessage(fields);
      case "system": return new lc.SystemMessage(fields);
      case "tool": return new lc.ToolMessage({ ...fields, tool_call_id: m.tool_call_id });
      case "assistant":
        fields.tool_calls = (m.tool_calls ?? []).map((c) => ({ id: c.id, name: c.name, args: argumentsOf(c.arguments) }));
        return new lc.AIMessage(fields);
    }
    throw new Refused(`no message of role ${m.role}`);
  };
  const roles: Record<string, string> = { human: "user", ai: "assistant" };
  const read = (m: any) => wire(roles[m.getType()] ?? m.getType(), typeof m.content === "string" ? m.content : JSON.stringify(m.content),
    (m.tool_calls ?? []).map((c: any) => ({ id: c.id ?? "", name: c.name, arguments: JSON.stringify(c.args) })), m.tool_call_id);
  return {
    can: ["async", "async load", "async clear"],
    add: async (session, turn, ttl) => history(session, ttl).addMessages(turn.map(message)),
    load: async (session) => (await history(session).getMessages()).map(read),
    clear: async (session) => history(session).clear(),
  };
}

function agents(session: Factory): Store {
  const items = (m: WireMessage): any[] => {
    const text = contentOf(m);
    if (m.role === "tool") return [{ type: "function_call_result", callId: m.tool_call_id, name: "", status: "completed", output: text }];
    const calls = (m.tool_calls ?? []).map((c) => ({ type: "function_call", callId: c.id, name: c.name, arguments: c.arguments }));
    const said = { role: m.role, content: m.role === "assistant" ? [{ type: "output_text", text }] : text, status: "completed" };
    return text || calls.length === 0 ? [said, ...calls] : calls;
  };
  const read = (list: any[]): WireMessage[] => {
    const out: WireMessage[] = [];
    for (const i of list) {
      if (i.type === "function_call_result") out.push(wire("tool", i.output, [], i.callId));
      else if (i.type === "function_call") {
        if (out.at(-1)?.role !== "assistant") out.push(wire("assistant", ""));
        (out.at(-1)!.tool_calls ??= []).push({ id: i.callId, name: i.name, arguments: i.arguments });
      } else out.push(wire(i.role, typeof i.content === "string" ? i.content : i.content.map((p: any) => p.text).join("")));
    }
    return out;
  };
  return {
    can: ["async", "async load", "async clear", "pop", "load last"],
    add: (key, turn, ttl) => session(key, ttl).addItems(turn.flatMap(items)),
    load: async (key, last) => read(await session(key).getItems(last)),
    clear: (key) => session(key).clearSession(),
    pop: async (key) => { const i = await session(key).popItem(); return i ? read([i]) : []; },
  };
}

async function open(name: string): Promise<Store> {
  if (name === "langchain-memory") {
    const { InMemoryChatMessageHistory } = await import("@langchain/core/chat_history");
    const histories = new Map<string, any>();
    return langChain((session) => {
      if (!histories.has(session)) histories.set(session, new InMemoryChatMessageHistory());
      return histories.get(session);
    });
  }
  const [file, member] = name.split("#");
  const factory: Factory = (await import(pathToFileURL(resolve(file)).href))[member];
  return "getItems" in factory("turnlog-contract-probe") ? agents(factory) : langChain(factory);
}

async function answer(store: Store, r: Request): Promise<object> {
  const session = r.session_base64 === undefined ? r.session ?? "" : textOf(r.session_base64);
  switch (r.op) {
    case "add": await store.add(session, r.turn!, r.ttl_ms ? Math.max(1, Math.floor(r.ttl_ms / 1000)) : undefined); return {};
    case "load": return { messages: await store.load(session, r.last) };
    case "clear": await store.clear(session); return {};
    case "pop": if (store.pop) return { messages: await store.pop(session) };
  }
  throw new Refused(`no operation ${r.op}`);
}

async function main() {
  const options = process.argv.slice(2).filter((a) => a.startsWith("--"));
  const name = process.argv.slice(2).find((a) => !a.startsWith("--"));
  if (!name) throw new Error("usage: turnlog_contract.ts STORE [--shared] [--ttl] [--can=NAME] [--max-bytes=N]");
  const store = await open(name);
  const can = [...store.can, ...options.filter((o) => o.startsWith("--can=")).map((o) => o.slice(6))];
  if (options.includes("--ttl")) can.push("expiry");
  const longest = Number(options.find((o) => o.startsWith("--max-bytes="))?.slice(12) ?? 0);
  const hello = { name, can, shared: options.includes("--shared"), concurrent: true, max_bytes: longest };
  createInterface({ input: process.stdin }).on("line", async (line) => {
    const r: Request = JSON.parse(line);
    let reply: object;
    try {
      reply = r.op === "hello" ? hello : await answer(store, r);
    } catch (e: any) {
      reply = { error: { kind: e instanceof Refused ? "refused" : "failed", message: String(e?.message ?? e) } };
    }
    process.stdout.write(JSON.stringify({ n: r.n, ...reply }) + "\n");
  });
}

main().catch((e) => { console.error(e); process.exit(1); });

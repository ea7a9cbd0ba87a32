// A chat history as an application has it, for turnlog_contract.ts:
//
//   turnlog verify 'exec:npx tsx turnlog_contract.ts agents_memory.ts#session'

import { MemorySession } from "@openai/agents-core";

const sessions = new Map<string, MemorySession>();

export function session(key: string): MemorySession {
  if (!sessions.has(key)) sessions.set(key, new MemorySession({ sessionId: key }));
  return sessions.get(key)!;
}

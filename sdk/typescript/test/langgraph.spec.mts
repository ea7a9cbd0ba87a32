// The published suites for checkpointers, unmodified; vitest runs this file (see langgraph.test.ts).
import { deltaChannelHistoryTests, validate } from "@langchain/langgraph-checkpoint-validation";
import { Client } from "turnlog";
import { TurnlogSaver } from "turnlog/langgraph";

const client = new Client({ addrs: process.env["TURNLOG_ADDRS"]!, retryFor: 60_000 });
let created = 0;
const initializer = {
  checkpointerName: "turnlog",
  createCheckpointer: () => new TurnlogSaver({ client, prefix: `suite-${created++}:` }),
};
validate(initializer);
deltaChannelHistoryTests(initializer);

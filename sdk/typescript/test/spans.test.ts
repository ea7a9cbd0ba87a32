import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  SimpleSpanProcessor,
  type ReadableSpan,
} from "@opentelemetry/sdk-trace-node";
import { TurnlogError } from "turnlog";
import { Cluster } from "./cluster.js";
import { Proxy } from "./proxy.js";

const exporter = new InMemorySpanExporter();
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
const tracer = provider.getTracer("test");
let cluster: Cluster;

before(async () => {
  provider.register();
  cluster = await Cluster.start(1);
  await cluster.client().transaction().append("started", { data: "x" }).commit(); // it knows of transactions
});
after(async () => {
  await cluster.stop();
  await provider.shutdown();
});

/** Returns the spans that ended during `work`. */
async function spansOf(work: () => Promise<unknown>): Promise<ReadableSpan[]> {
  exporter.reset();
  await work();
  return exporter.getFinishedSpans();
}

const limit = { timeout: 60_000 };
const database = { "db.system.name": "turnlog", "db.namespace": "0" };

test(
  "each call has a span by the conventions for database clients, part of the caller's trace",
  limit,
  async () => {
    const client = cluster.client({ tracer });
    const chat = client.session("spans secret-key");
    const [host, port] = cluster.addrs[0]!.split(":");
    const where = { "server.address": host, "server.port": Number(port), "turnlog.attempts": 1 };
    const found = await spansOf(() =>
      tracer.startActiveSpan("agent", async (agent) => {
        await chat.append({ data: "secret payload" });
        await Promise.all([chat.last(1), chat.last(2)]);
        await client.transaction().append("spans", { data: "secret payload" }).commit();
        await client.erase("spans secret");
        agent.end();
      }),
    );
    const agent = found.at(-1)!;
    const calls = found.slice(0, -1);
    assert.deepEqual(
      calls.map((s) => s.name),
      ["TURN.APPEND", "TURN.READ", "TURN.READ", "TURN.TX", "TURN.ERASE"],
    );
    for (const span of calls) {
      assert.equal(span.kind, SpanKind.CLIENT);
      assert.equal(span.status.code, SpanStatusCode.UNSET);
      assert.deepEqual(span.attributes, { ...database, "db.operation.name": span.name, ...where });
      assert.equal(span.parentSpanContext?.spanId, agent.spanContext().spanId);
      assert.equal(span.spanContext().traceId, agent.spanContext().traceId);
    }
    assert.ok(!JSON.stringify(calls.map((s) => [s.name, s.attributes, s.events, s.status])).includes("secret"));
  },
);

test("the span of a call that failed says why, and whether it may have taken place", limit, async (t) => {
  const client = cluster.client({ tracer });
  const [conflict] = await spansOf(() =>
    assert.rejects(client.session("conflict").append({ data: "x" }, { expect: 7 })),
  );
  assert.deepEqual(conflict!.attributes, {
    ...database,
    "db.operation.name": "TURN.APPEND",
    "error.type": "CONFLICT",
    "turnlog.outcome": "not_applied",
  });
  assert.equal(conflict!.status.code, SpanStatusCode.ERROR);
  assert.match(conflict!.status.message!, /^the session does not exist, its expected revision was 7$/);

  const proxy = await Proxy.start(cluster.addrs[0]!);
  t.after(() => proxy.stop());
  const cut = cluster.client({ addrs: proxy.addr, tracer });
  await cut.cluster();
  proxy.lose("TURN.TRACE"); // the reply to the packet that begins with it
  const [lost] = await spansOf(() =>
    assert.rejects(cut.session("lost").pop(1), (err) => TurnlogError.is(err, "UNKNOWN_OUTCOME")),
  );
  assert.equal(lost!.attributes["error.type"], "UNKNOWN_OUTCOME");
  assert.equal(lost!.attributes["turnlog.outcome"], "unknown");
  await cut.close();
});

test("one span for all attempts, which counts them; none for a tail", limit, async () => {
  const client = cluster.client({ addrs: ["127.0.0.1:1", ...cluster.addrs], tracer });
  const chat = client.session("attempts");
  const [appended, ...others] = await spansOf(() => chat.append({ data: "x" }));
  assert.equal(appended!.attributes["turnlog.attempts"], 2);
  assert.equal(others.length, 0);
  assert.deepEqual(
    await spansOf(async () => {
      for await (const message of chat.tail(0)) {
        assert.equal(message.text, "x");
        break;
      }
    }),
    [],
  );
});

test(
  "the node's spans are children of the client's; a tracer that makes none leaves the traceparent",
  limit,
  async (t) => {
    const proxy = await Proxy.start(cluster.addrs[0]!);
    t.after(() => proxy.stop());
    let sent = "";
    proxy.request = (data) => {
      sent += data;
      return data;
    };
    const mine = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
    const client = cluster.client({ addrs: proxy.addr, tracer, traceparent: () => mine });
    const [span] = await spansOf(() => client.session("parents").append({ data: "x" }));
    const { traceId, spanId } = span!.spanContext();
    assert.ok(sent.includes(`00-${traceId}-${spanId}-01`));
    assert.ok(!sent.includes(mine));
    await client.close();

    const none = new NodeTracerProvider().getTracer("none");
    const quiet = trace.wrapSpanContext({ traceId: "0".repeat(32), spanId: "0".repeat(16), traceFlags: 0 });
    none.startActiveSpan = ((_name: string, _options: unknown, fn: (span: typeof quiet) => unknown) =>
      fn(quiet)) as typeof none.startActiveSpan;
    const without = cluster.client({ addrs: proxy.addr, tracer: none, traceparent: () => mine });
    await without.session("parents").append({ data: "x" });
    assert.ok(sent.includes(mine));
    await without.close();
  },
);

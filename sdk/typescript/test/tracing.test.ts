import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { context, trace } from "@opentelemetry/api";
import { NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import { TurnlogError } from "turnlog";
import { traceparent as active } from "turnlog/opentelemetry";
import { Cluster } from "./cluster.js";
import { Proxy } from "./proxy.js";

/** The current span, kept as OpenTelemetry keeps it. */
interface Span {
  trace: Buffer;
  id: Buffer;
}
const current = new AsyncLocalStorage<Span>();
const span = (): Span => ({ trace: randomBytes(16), id: randomBytes(8) });
const traceparent = (): string | undefined => {
  const s = current.getStore();
  return s && `00-${s.trace.toString("hex")}-${s.id.toString("hex")}-01`;
};

let received = Buffer.alloc(0);
const collector = createServer(async (request, response) => {
  for await (const chunk of request) received = Buffer.concat([received, chunk as Buffer]);
  response.end();
  collector.emit("received");
});
let cluster: Cluster;

before(async () => {
  collector.listen(0, "127.0.0.1");
  await once(collector, "listening");
  const url = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  cluster = await Cluster.start(1, "--otlp-endpoint", url, "--otlp-sample-ratio", "0");
});
after(async () => {
  await cluster.stop();
  collector.closeAllConnections();
  collector.close();
});

/** Whether a span in what the collector got, which is protocol buffers, has this trace_id and parent_span_id. */
function hasChild(s: Span): boolean {
  const trace = Buffer.concat([Buffer.from([0x0a, 16]), s.trace]);
  const parent = Buffer.concat([Buffer.from([0x22, 8]), s.id]);
  return received.includes(trace) && received.includes(parent);
}

test("a trace goes on at the node", { timeout: 120_000 }, async () => {
  const client = cluster.client({ traceparent });
  const [appended, read] = [span(), span()];
  await client.session("s").append({ data: "not traced" });
  await current.run(appended, () => client.session("s").append({ data: "traced" }));
  const { count } = await current.run(read, () => client.session("s").last(20));
  assert.equal(count, 2);
  while (!(hasChild(appended) && hasChild(read) && received.includes("turnlog.apply")))
    await once(collector, "received");
  assert.equal(received.toString("latin1").split("TURN.APPEND").length - 1, 2); // name and operation of one span
});

test("a node that knows nothing of traces", { timeout: 120_000 }, async () => {
  const proxy = await Proxy.start(cluster.addrs[0]!);
  proxy.request = (data) => data.replaceAll("TURN.TRACE", "TURN.TRAVE");
  const client = cluster.client({ addrs: proxy.addr, traceparent });
  proxy.lose("TURN.TRACE"); // the reply to the packet that begins with it
  await current.run(span(), async () => {
    const s = client.session("older");
    assert.equal((await s.append({ data: "once" })).duplicate, true);
    await assert.rejects(s.append({ data: "x" }, { expect: 0 }), (err) => TurnlogError.is(err, "CONFLICT"));
    await Promise.all(Array.from({ length: 50 }, (_, i) => s.append({ id: `m${i}`, data: "more" })));
    assert.equal((await s.last(1)).count, 51);
  });
  await client.close();
  proxy.stop();
});

test(
  "with OpenTelemetry's SDK, a node's spans are children of the active one",
  { timeout: 120_000 },
  async (t) => {
    const provider = new NodeTracerProvider();
    provider.register();
    t.after(() => provider.shutdown());
    const proxy = await Proxy.start(cluster.addrs[0]!);
    t.after(() => proxy.stop());
    const client = cluster.client({ addrs: proxy.addr, traceparent: active });
    const chat = client.session("opentelemetry");
    await chat.append({ data: "outside of any span" });
    assert.equal(active(), undefined);
    assert.equal(proxy.seen.get("TURN.TRACE"), undefined);
    const { traceId, spanId } = await trace.getTracer("test").startActiveSpan("agent", async (s) => {
      await Promise.all([chat.append({ data: "1" }), chat.append({ data: "2" })]);
      s.end();
      return s.spanContext();
    });
    const wanted = { trace: Buffer.from(traceId, "hex"), id: Buffer.from(spanId, "hex") };
    while (!hasChild(wanted)) await once(collector, "received");

    const unsampled = trace.wrapSpanContext({ traceId, spanId, traceFlags: 0 });
    const none = trace.wrapSpanContext({ traceId: "0".repeat(32), spanId: "0".repeat(16), traceFlags: 1 });
    assert.equal(
      context.with(trace.setSpan(context.active(), unsampled), active),
      `00-${traceId}-${spanId}-00`,
    );
    assert.equal(context.with(trace.setSpan(context.active(), none), active), undefined);
  },
);

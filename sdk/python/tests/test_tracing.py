"""Spans of OpenTelemetry."""

import asyncio
import contextlib
import http.server
import queue
import threading

import pytest

import turnlog
from cluster import Cluster
from proxy import Proxy, losing

sdk = pytest.importorskip("opentelemetry.sdk.trace")
from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: E402
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: E402

from turnlog.opentelemetry import traceparent  # noqa: E402


def test_spans(cluster, key):
    exporter, provider = InMemorySpanExporter(), sdk.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    client = turnlog.Client(["127.0.0.1:1", cluster.nodes[0].resp], tracer=provider.get_tracer("test"))
    client.session(key).append("secret")
    asyncio.run(client.aio.session(key).last(1))
    with pytest.raises(turnlog.ConflictError):
        client.session(key).append("x", expect=0)
    appended, read, conflict = exporter.get_finished_spans()
    assert (appended.name, read.name) == ("TURN.APPEND", "TURN.READ")
    assert appended.attributes["turnlog.attempts"] == 2
    assert f"{appended.attributes['server.address']}:{appended.attributes['server.port']}" == cluster.nodes[0].resp
    assert conflict.attributes["error.type"] == "CONFLICT"
    assert conflict.attributes["turnlog.outcome"] == "not_applied"
    assert "secret" not in str(appended.to_json()) and key not in str(appended.to_json())


class Collector(http.server.BaseHTTPRequestHandler):
    """Takes spans by OTLP over HTTP."""

    def do_POST(self):
        self.server.bodies.put(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def collector():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        server.bodies = queue.Queue()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", server.bodies
        finally:
            server.shutdown()


def is_parent(span, body):
    """Whether a span in the request, which is protocol buffers, has this trace_id and parent_span_id."""
    context = span.get_span_context()
    return (
        b"\x0a\x10" + context.trace_id.to_bytes(16, "big") in body
        and b"\x22\x08" + context.span_id.to_bytes(8, "big") in body
    )


@pytest.fixture
def traced_node(tmp_path):
    """A node that traces what its clients trace, and what the collector gets of it."""
    with collector() as (url, bodies):
        node = Cluster(tmp_path, 1, ("--otlp-endpoint", url, "--otlp-sample-ratio", "0"))
        try:
            node.start()
            yield node, bodies
        finally:
            node.stop()


@pytest.mark.parametrize("kind", ["threads", "asyncio"])
def test_a_trace_goes_on_at_the_node(traced_node, kind):
    node, bodies = traced_node
    exporter, provider = InMemorySpanExporter(), sdk.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    client = turnlog.Client(node.addresses, tracer=provider.get_tracer("test"))
    turnlog.Client(node.addresses).session("other").append("not traced")
    if kind == "threads":
        client.session("s").append("x" * 20_000)
        assert client.session("s").last(20).count == 1
    else:

        async def both():
            await client.aio.session("s").append("x" * 20_000)
            assert (await client.aio.session("s").last(20)).count == 1

        asyncio.run(both())
    appended, read = exporter.get_finished_spans()
    seen = b""
    while not (is_parent(appended, seen) and is_parent(read, seen) and b"turnlog.apply" in seen):
        seen += bodies.get(timeout=30)
    assert seen.count(b"TURN.APPEND") == 2, "more than the name and operation of one span"


@pytest.mark.parametrize("kind", ["threads", "asyncio"])
def test_the_callers_own_span_goes_on_at_the_node(traced_node, kind):
    """Without a tracer: the node's spans are children of the span in which the call was made."""
    node, bodies = traced_node
    client = turnlog.Client(node.addresses, traceparent=traceparent)
    client.session("other").append("not traced")
    with sdk.TracerProvider().get_tracer("test").start_as_current_span("mine") as mine:
        if kind == "threads":
            client.session("s").append("x")
        else:
            asyncio.run(client.aio.session("s").append("x"))
    seen = b""
    while not (is_parent(mine, seen) and b"turnlog.apply" in seen):
        seen += bodies.get(timeout=30)
    assert seen.count(b"TURN.APPEND") == 2, "more than the name and operation of one span"


def fails():
    raise RuntimeError("mine")


@pytest.mark.parametrize("function", [fails, lambda: 7, lambda: "\ud800", lambda: "", lambda: "nonsense", lambda: None])
def test_a_function_for_traces_that_fails_stores_the_turn_all_the_same(cluster, key, function):
    client = turnlog.Client(cluster.addresses, traceparent=function)
    client.session(key).append("a")
    asyncio.run(client.aio.session(key).append("b"))
    assert [m.data for m in client.session(key).last(9).messages] == [b"a", b"b"]


@pytest.mark.parametrize("kind", ["threads", "asyncio"])
def test_a_node_that_knows_nothing_of_traces(cluster, key, kind):
    """It rejects what names the trace, which is nothing to the call; and a reply that is lost is found as ever."""
    proxy = Proxy(cluster.nodes[0].resp)
    proxy.request = lambda data: data.replace(b"TURN.TRACE", b"TURN.TRAVE")
    proxy.lose = losing(b"TURN.APPEND")
    client = turnlog.Client(proxy.address, tracer=sdk.TracerProvider().get_tracer("test"))
    session = client.session(key)
    try:
        if kind == "threads":
            assert session.append("once").duplicate
            with pytest.raises(turnlog.ConflictError):
                session.append("x", expect=0)
            assert [m.data for m in session.last(9).messages] == [b"once"]
        else:

            async def calls():
                session = client.aio.session(key)
                assert (await session.append("once")).duplicate
                with pytest.raises(turnlog.ConflictError):
                    await session.append("x", expect=0)
                assert [m.data for m in (await session.last(9)).messages] == [b"once"]

            asyncio.run(calls())
    finally:
        proxy.close()

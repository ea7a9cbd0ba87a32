"""Spans of OpenTelemetry."""

import asyncio

import pytest

import turnlog

sdk = pytest.importorskip("opentelemetry.sdk.trace")
from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: E402
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: E402


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

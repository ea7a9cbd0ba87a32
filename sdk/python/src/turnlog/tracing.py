"""What makes calls part of a trace, and OpenTelemetry spans: those need a tracer."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .config import Config
from .errors import TurnlogError
from .operation import Operation

if TYPE_CHECKING:
    from opentelemetry.trace import Span as OTelSpan


def traceparent_of(span: OTelSpan) -> str | None:
    """Name a span by the W3C's Trace Context, so that the node's spans are its children; None: there is no trace."""
    context = span.get_span_context()
    if not context.is_valid:
        return None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags & 1:02x}"


def parent(config: Config) -> str | None:
    """Return what the configuration's function says. That it fails is no reason not to store a turn."""
    if config.traceparent is None:
        return None
    try:
        found: Any = config.traceparent()
    except Exception:
        return None
    return found if isinstance(found, str) and found and found.isascii() else None


class Span:
    """The span of one call."""

    __slots__ = ("_span", "traceparent")

    def __init__(self, span: OTelSpan) -> None:
        self._span = span
        self.traceparent: str | None = traceparent_of(span)

    def answered(self, address: str, attempts: int) -> None:
        """Note which node answered, at which attempt."""
        host, _, port = address.rpartition(":")
        self._span.set_attributes({"server.address": host, "server.port": int(port), "turnlog.attempts": attempts})


@contextlib.contextmanager
def span(config: Config, operation: Operation[Any]) -> Iterator[Span]:
    """Make a span for a call, by the conventions for database clients."""
    from opentelemetry.trace import SpanKind, Status, StatusCode  # noqa: PLC0415

    if config.tracer is None:
        raise ValueError("the client has no tracer")
    attributes = {
        "db.system.name": "turnlog",
        "db.namespace": config.namespace,
        "db.operation.name": operation.command,
    }
    with config.tracer.start_as_current_span(
        operation.command,
        kind=SpanKind.CLIENT,
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as made:
        try:
            yield Span(made)
        except TurnlogError as e:
            made.set_attributes({"error.type": e.code, "turnlog.outcome": e.outcome})
            made.set_status(Status(StatusCode.ERROR, e.message))
            raise

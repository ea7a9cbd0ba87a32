"""The caller's span of OpenTelemetry, for ``Client(traceparent=)``; needs ``turnlog[otel]``."""

from __future__ import annotations

from opentelemetry.trace import get_current_span

from .tracing import traceparent_of


def traceparent() -> str | None:
    """Return the current span as a ``traceparent``, None if there is none.

    As ``Client(traceparent=traceparent)`` it makes the client's requests part of the caller's trace.
    """
    return traceparent_of(get_current_span())

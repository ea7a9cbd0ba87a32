/**
 * The caller's span of OpenTelemetry, for `Config.traceparent`.
 *
 * @packageDocumentation
 */
import { isSpanContextValid, trace } from "@opentelemetry/api";

/**
 * Returns the active span as a `traceparent`; undefined if there is none. As `Config.traceparent` it makes the
 * client's requests part of the caller's trace.
 */
export function traceparent(): string | undefined {
  const span = trace.getActiveSpan()?.spanContext();
  if (!span || !isSpanContextValid(span)) return undefined;
  return `00-${span.traceId}-${span.spanId}-0${span.traceFlags & 1}`;
}

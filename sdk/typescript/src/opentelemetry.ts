/**
 * The caller's span of OpenTelemetry, for `Config.traceparent`.
 *
 * @packageDocumentation
 */
import { trace } from "@opentelemetry/api";
import { traceparentOf } from "./tracing.js";

/**
 * Returns the active span as a `traceparent`; undefined if there is none. As `Config.traceparent` it makes the
 * client's requests part of the caller's trace.
 */
export function traceparent(): string | undefined {
  return traceparentOf(trace.getActiveSpan());
}

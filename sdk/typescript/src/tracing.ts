import { TurnlogError, asTurnlogError, withoutKind } from "./errors.js";

// What this package needs of OpenTelemetry's types, so that it does not need the package.

/** What makes a span for each call: a tracer of OpenTelemetry, as `trace.getTracer("my-agent")` returns one. */
export interface Tracer {
  startActiveSpan<T>(
    name: string,
    options: { kind: 2; attributes: Record<string, string> },
    fn: (span: Span) => T,
  ): T;
}

/** A span of OpenTelemetry. */
export interface Span {
  spanContext(): { traceId: string; spanId: string; traceFlags: number };
  setAttributes(attributes: Record<string, string | number>): unknown;
  setStatus(status: { code: 2; message: string }): unknown;
  end(): void;
}

const client = 2; // SpanKind.CLIENT
const error = 2; // SpanStatusCode.ERROR

/**
 * Names a span by the W3C's Trace Context, so that the node's spans are its children; undefined: there is no trace.
 *
 * @internal
 */
export function traceparentOf(span: Pick<Span, "spanContext"> | undefined): string | undefined {
  if (!span) return undefined;
  const { traceId, spanId, traceFlags } = span.spanContext();
  if (/^0*$/.test(traceId) || /^0*$/.test(spanId)) return undefined;
  return `00-${traceId}-${spanId}-0${traceFlags & 1}`;
}

/** Makes a span for a call, by the conventions for database clients. @internal */
export function traced<T>(
  tracer: Tracer,
  namespace: string,
  command: string,
  call: (span: Span) => Promise<T>,
): Promise<T> {
  const attributes = {
    "db.system.name": "turnlog",
    "db.namespace": namespace,
    "db.operation.name": command,
  };
  return tracer.startActiveSpan(command, { kind: client, attributes }, async (span) => {
    try {
      return await call(span);
    } catch (err) {
      failed(span, asTurnlogError(err));
      throw err;
    } finally {
      span.end();
    }
  });
}

function failed(span: Span, err: TurnlogError): void {
  span.setAttributes({ "error.type": err.kind, "turnlog.outcome": err.outcome });
  span.setStatus({ code: error, message: withoutKind(err) });
}

/** Notes which node answered, at which attempt. @internal */
export function answered(span: Span, addr: { host: string; port: number }, attempts: number): void {
  span.setAttributes({ "server.address": addr.host, "server.port": addr.port, "turnlog.attempts": attempts });
}

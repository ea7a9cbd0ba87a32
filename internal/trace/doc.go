// Package trace makes spans of what a node does for a request, as OpenTelemetry has them. The request may be part of
// a trace that its client began, and go on at another node: a Context says which span it is part of.
//
// Everything works, and does nothing, on a nil Tracer and on a nil Active, so that those that trace need not ask
// whether they do. Spans tell no keys and no payloads.
package trace

// Package httpapi is turnlog's HTTP server: sessions and messages as JSON over
// HTTP/1.1, a tail as server-sent events, health, metrics and a view of the
// cluster. openapi.yaml, which it serves, is its exact description, and
// docs/http.md its explanation.
//
// It translates, and decides nothing: what an operation means is documented on
// its type in package turn, and the node behind Engine carries it out. What is
// decided here is only how a request may look and how much of the process one
// client may hold: bodies, answers, connections and streams are bounded.
package httpapi

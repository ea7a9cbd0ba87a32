// Package target has the stores that can be measured: their URLs, and the protocols by which
// they are spoken to. A Dialect puts requests together in place and finds the ends of answers in
// a buffer, so that a load allocates nothing for an operation. Connections are the caller's.
package target

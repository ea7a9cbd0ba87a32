// Package bench measures stores of sessions: turnlog through its APIs, and
// whatever speaks Redis, with the same bytes and the same generator of load.
//
// Generator (package generator) and servers usually share a machine, so the generator is thin:
// one thread serves all connections, requests are put together in place, and of an answer only
// the frames are looked at. Nothing is allocated per operation.
//
// etcd is reached through its client library, whose dependencies turnlog does
// without. So internal/bench/etcd is a module and a program of its own. Its clients have a
// goroutine and a connection each; payloads, warm-up and figures come from this
// package, in that process.
//
// Comparisons alternate between the targets in rounds and take the median of
// the ratios of the rounds, since on a shared machine neighbouring minutes are
// alike and distant ones are not. Trials measure what becomes of turnlog itself
// when there is much data, on clusters of their own.
package bench

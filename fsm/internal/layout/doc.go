// Package layout is the forms that the state has on disk: the buckets, their keys and their
// values: seals, heads, blocks of messages and references to them, moves, tombstones, garbage,
// namespaces and the state description. It has their values, and functions from
// those to bytes and back. It reads and writes no files, and knows nothing of the time.
//
// fsm/LAYOUT.md describes the forms, and which bucket holds which. They are the same on all
// nodes, and data of every released version must open: what changes is gated by the cluster's
// level, and gets a version of its own (docs/decisions, "versions of formats").
//
// Functions may be called from any goroutine. What they return may be a part of what they were
// given, where their comments say so. Errors are of kind turn.Corrupt if the bytes are not
// those that were written, and of turn.Newer if a newer version wrote them.
package layout

// Package fsm is turnlog's state machine: it turns log entries into sessions,
// and answers queries about them. The same entries give the same state and the
// same answers on every node, whatever its clock, configuration or history of
// flushes and restarts: time and ids arrive as data, inside the entries.
//
// Recent changes live in memory, in memtables. A background flush
// appends a memtable's messages to block files and writes the rest, with
// references to them, to a bbolt file: in one transaction, together with the index
// of the last entry that it includes (flush.go, filespace.go, LAYOUT.md). What is
// not flushed is recovered by applying the log again from that index on, so that
// Apply never waits for the disk, many messages of a session share a write, and a
// copy of the whole state (dump.go) is a read transaction away. Package internal/layout
// encodes and decodes what is stored, package pagecheck verifies the bbolt file.
//
// A session's messages are in commit order. Each remembers at which end of
// the Redis list it was pushed: the list is the messages pushed at the head,
// newest first, then those pushed at the tail, oldest first. Removing from an
// end keeps that true, so one bit per message carries the second order. An element
// that is put among others moves those up to the nearer end: they are appended
// again (listedit.go), without counting among the messages whose ids are remembered
// (layout.Moves). A message whose payload is replaced keeps its place (edits.go).
//
// A key holds a session or a value of another of Redis's types, which is a set of
// elements (element.go): pairs of name and value in one order over all keys, looked
// up and walked through memtables and store like everything else.
//
// The package does not know how entries were agreed upon, and does not check
// limits on the size of requests: the proposer of entries does, before.
package fsm

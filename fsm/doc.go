// Package fsm is turnlog's state machine: it applies log entries to sessions and values, and
// answers queries about them.
//
// The same entries give the same state and the same results on every node, whatever its clock,
// configuration, flushes or restarts. Time and ids are data in the entries. The package knows
// neither Raft nor the network. It does not check limits on the size of requests: what proposes
// entries has done that.
//
// # Storage
//
// Apply changes a memtable. A background flush (flush.go) appends a memtable's messages to block
// files (package blockfile), and writes everything else, with references to the blocks, to a bbolt
// file in one transaction, together with the index of the last entry that it includes. After a
// restart, the log is applied again from that index on. So Apply does not wait for the disk, the
// messages of a session share blocks, and a copy of the whole state (internal/store/dump.go) is one read
// transaction. LAYOUT.md describes the files, package internal/layout encodes them, and package
// pagecheck verifies the bbolt file.
//
// The commands on sessions are in this package, storage is behind two others: internal/memtable has
// the changes in memory, over internal/store, which has the files. They know nothing of commands.
//
// # Sessions as Redis lists
//
// The messages of a session are in commit order. Each remembers at which end of the Redis list it
// was pushed. The list is the messages pushed at the head, newest first, then those pushed at the
// tail, oldest first. Removing from an end keeps that true, so one bit per message carries the
// second order. LINSERT appends the messages between the insertion point and the nearer end again
// (listedit.go); these do not count among the messages whose ids are remembered (layout.Moves).
// LSET replaces a payload in place (listedit.go).
//
// # Values
//
// A value of another Redis type is a set of elements: pairs of name and value, in one order over
// all keys, in memtables and store (internal/memtable/elements.go). What operations do on them is
// in internal/values, which sees the state through a small interface: keyspace, here.
package fsm

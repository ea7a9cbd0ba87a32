// Package fsm is turnlog's state machine: it applies log entries to sessions and values, and
// answers queries about them.
//
// The same entries give the same state and the same results on every node, whatever its clock,
// configuration, flushes or restarts. Time and ids are data in the entries. The package depends on
// neither Raft nor the network. It does not check limits on the size of requests: the proposer of an
// entry has done that.
//
// # Packages
//
// This package owns the lock and the rotation of memtables, and everything that runs beside Apply:
// flushes, scrubs, dumps, restores and waits. The effects of entries and queries are in the packages
// below it:
//
//   - internal/sessions has the operations on keys of any type, on sessions and on lists;
//     internal/values those on values of other types; internal/transaction applies transactions;
//   - internal/queries answers queries;
//   - internal/keyspace has the keys that they all work on; internal/messageids finds messages by
//     their ids; internal/cost bounds what an entry may need;
//   - internal/memtable holds the changes in memory, on top of internal/store, which holds the files.
//     Neither knows the operations.
//
// # How an operation is added
//
// Its type belongs in package turn, and its encoding in internal/codec. Then:
//
//   - one on sessions, or on keys of any type, is a method and a case in internal/sessions/apply.go;
//     one on another value, in internal/values/apply.go;
//   - if it copies, returns or searches stored data, it charges that to the entry's allowance
//     (internal/cost), and gets a weight in weight.go;
//   - if it may be a step of a transaction that takes place as a whole, internal/transaction
//     checks it (plan.go, planmessages.go);
//   - the model in modelall_test.go and the files beside it specifies its effect, and tests it together
//     with all others.
//
// A query is a case in internal/queries/answer.go, or in internal/values/answer.go.
//
// # Storage
//
// Apply changes a memtable. A background flush (flush.go) appends a memtable's messages to block files
// (package blockfile), and writes everything else, with references to the blocks, to a bbolt file in
// one transaction, together with the index of the last entry that it includes. After a restart, the log
// is applied again from that index on. Therefore Apply does not wait for the disk, the messages of a
// session share blocks, and a copy of the whole state (internal/store/dump.go) is one read transaction.
// LAYOUT.md describes the files, package internal/layout encodes them, and package pagecheck verifies
// the bbolt file.
//
// # Sessions as Redis lists
//
// The messages of a session are in commit order. Each remembers at which end of the Redis list it was
// pushed. The list consists of the messages pushed at the head, newest first, followed by those pushed
// at the tail, oldest first. Removing from an end keeps that true, so one bit per message carries the
// second order. LINSERT appends the messages between the insertion point and the nearer end again
// (internal/sessions/listedit.go); these do not count among the messages whose ids are remembered
// (layout.Moves). LSET replaces a payload in place.
//
// # Values
//
// A value of another Redis type is a set of elements: pairs of name and value, in one order over
// all keys, in memtables and store (internal/memtable/elements.go).
package fsm

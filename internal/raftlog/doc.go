// Package raftlog is Raft's log as a node of turnlog keeps it: entries that are durable, or
// known not to be, on one of two engines.
//
// A Store implements raft.LogStore over an Engine: package wal (OverWAL), or raft-boltdb
// (OpenBolt). Beyond that interface it
//
//   - makes a leader's entries durable while they are replicated (parallel.go);
//   - rejects proposals that Raft would take in another term than theirs (proposal.go);
//   - refuses to remove entries that are known to be committed (cut.go);
//   - fits the log to a snapshot that replaces its beginning (FitToSnapshot);
//   - makes the node stop on an error after which Raft would go on with a log that is
//     not what it believes.
//
// A HighWater is the high-water mark of a log: the last position that was durable. A log
// that ends before its mark has lost entries, and a Loss says which (highwater.go).
//
// A Replacement puts a log of the entries before the damage in a damaged log's place
// (replacement.go). Whether the node may do that is its owner's to decide.
//
// The package knows entries by index and term only: nothing of commands, of the state
// machine, or of other nodes.
package raftlog

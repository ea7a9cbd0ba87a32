// Package snapshot is Raft's snapshots of a state machine that keeps its state in a file anyway: a
// local snapshot is a marker, and only what a leader sends is data.
//
// A Store implements raft.SnapshotStore. It reconciles marker and state after a crash (Adopt),
// streams the state to other nodes at a bounded rate (Stream), and says how much log they need
// during that (Tail).
package snapshot

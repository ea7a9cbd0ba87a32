// Package datadir is a node's data directory: identity, term and vote, the log with its high-water mark, the state
// and its snapshots. Open opens them, repairs small damage, and refuses a directory that a node may not start from;
// Settle holds them against each other.
//
// It starts nothing of Raft and knows no other node: a restore and a recovery use it as a node does.
package datadir

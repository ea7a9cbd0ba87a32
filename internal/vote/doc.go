// Package vote keeps what a node must not forget: the term that it is in, and for whom it voted.
// With a vote forgotten, a node can cast it twice, and two leaders share a term.
//
// A Store implements raft.StableStore over two equal files of one page each (page.go). Every
// change is written to both and synced before it counts as kept, so either one holds it: a
// damaged file is replaced by the other, and never by an older vote.
package vote

// Package vote keeps what a node must not forget: the term that it is in, and for whom it voted.
// With a vote forgotten, a node can give it twice, and two leaders share a term.
//
// A Store implements raft.StableStore over a small bbolt file and a second copy of it. Every
// value is sealed, every flipped bit is noticed; a damaged file is replaced by its copy only if
// nothing can have been kept since (copy.go).
package vote

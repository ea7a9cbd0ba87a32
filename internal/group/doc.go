// Package group is the Raft group as one of its nodes knows it: the members, the term, the commit index, the leader.
//
// It gives the packages that are not to import Raft what they need of it, and answers before Raft runs, too: then there
// is no configuration and no leader. What it knows may be out of date at once; only package readindex confirms that a
// node leads. Any goroutine may ask; KnownLeader has one writer, the goroutine that follows Raft's observations.
package group

// Package diskspace decides whether a cluster takes writes that need disk space.
//
// Operations that need space are rejected while a quorum of the voters has less than the reserve.
// What frees space is admitted nevertheless, from that reserve: a disk that is full of sessions
// can be emptied. The leader decides, by what the voters report; the others learn its decision
// and reject at once what it would.
//
//	Space    what this node knows: of its own disk, and of the leader's decision
//	Watcher  watches this node's disk, and decides while the node leads
//
// The package knows neither Raft nor the network: a node hands it the other nodes as a Cluster.
package diskspace

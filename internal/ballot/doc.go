// Package ballot keeps a node from votes, and from acknowledgements, that would break what it promised
// before it lost a part of its data. It is between the other nodes' messages and Raft.
package ballot

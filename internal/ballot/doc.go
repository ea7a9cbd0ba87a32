// Package ballot keeps a node from votes, and from acknowledgements, that would break what it promised
// before it lost a part of its data. It stands between the other nodes' messages and Raft.
package ballot

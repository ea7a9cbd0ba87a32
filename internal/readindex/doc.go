// Package readindex makes reads linearizable: a read sees every write that was acknowledged, by
// any node, before the read began.
//
// A read index is an index of the log such that a state which includes the entry at the index
// includes each of those writes (Ongaro, Consensus: Bridging Theory and Practice, section 6.4).
//
//	leaderIndexes    on the leader: gives out read indexes, which a majority of the voters confirms
//	followerIndexes  on any other node: asks the leader for read indexes
//	Reader           answers queries, by a read index or by how old the state may be
//	Confirm          is what a voter answers to a leader's question
//
// The package knows neither Raft nor the network nor what a message between nodes looks like,
// other than a leader's question and its answer: a node hands it what it knows of the cluster as
// a Cluster, the other nodes as Peers, and the state machine as a State. No clock is involved but
// for reads that may see an older state.
package readindex

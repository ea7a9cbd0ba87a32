// Package propose brings operations into a replicated log: in the order in which they were
// submitted on a node, and each at most once, whatever becomes of leaders meanwhile.
//
//	Calls      the operations of this node that have no outcome yet, in order
//	Proposer   on the leader: what waits, packed into entries of the log
//	Forwarder  on any other node: its calls, sent to the leader batch by batch
//	Inbox      on the leader: the batches of other nodes, in the order of their sessions
//	Term       the leader's term, which a batch names
//
// A call is taken from the table by the node's proposer while the node leads, else by its
// forwarder. If an attempt fails in any way, or leadership moves, the table is taken again from
// its first unresolved call on, under the same tags; the state machine applies a tag once.
//
// The package knows neither Raft nor the network nor what a message between nodes looks like: a
// node hands it the log as a Log, the other nodes as Peers, the state of the disks as a Space, and
// tells it what was applied.
//
// # Locks
//
// Calls, Proposer, Inbox and a forwarding session have a mutex each. The Inbox holds its own while
// it offers a batch to the Proposer, and while it answers one that is refused; the Proposer holds
// its own while it takes calls from the table. Nothing is locked the other way round, and no mutex
// is held while an entry is handed to the log.
package propose

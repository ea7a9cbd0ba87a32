// Package raftstore is a node of a replicated store: Raft around the state
// machine of package fsm, over the log of package raftlog and the connections of
// package peer; package propose brings operations into its log, and package readindex
// answers queries. It runs Raft; packages raftlog, vote and snapshot keep its entries,
// votes and snapshots, and no other package knows of it.
//
//	n, err := raftstore.Open(raftstore.Config{NodeID: "n1", DataDir: dir})
//	go n.Run(ctx)                                  // until ctx ends, or the node must stop
//	r, err := n.Apply(ctx, &turn.Append{…})        // on any node
//	r, err = n.Query(ctx, &turn.Read{…}, turn.Consistency{})
//
// # Promises
//
//   - Apply returns nil only after the operation is in the logs of a majority,
//     synced, and applied by this node or by the leader. Its error says whether
//     the operation surely did not take place or, with turn.Unknown, perhaps did.
//   - Operations that are submitted to one node one after the other take place
//     in that order. An operation is sent again as often as its leader is lost,
//     and takes place at most once.
//   - Linearizable queries see every operation that was acknowledged, by
//     whatever node, before they began.
//   - A node that cannot trust its disk stops: Run returns the error. A node
//     that lost its disk is not let in under its old name.
//   - Nothing waits without a bound, in time as in memory.
//
// # A write
//
// Submit encodes the operation and puts it into the table of calls (package propose). On the
// leader, the Proposer takes what waits, packs it into one log entry and gives that to Raft
// (propose.go); on any other node the Forwarder takes it and sends it, as it is, to the leader's
// Proposer (forward.go). When the state machine has applied the entry (applier.go), calls are
// resolved with its outcome. Whatever goes wrong in between, unresolved calls are sent again
// under the same tags, in the same order; the state machine applies a tag once.
//
// # A read
//
// The leader takes a read index, has a majority of the voters confirm
// that there is no later leader, waits until its state is that far, and answers.
// Another node asks it for such an index and answers by itself if its own state
// is that far, or nearly; otherwise it forwards the query. All of that is in package readindex;
// query.go connects it with Raft and the other nodes.
//
// # The goroutines
//
// Run starts, and waits for:
//
//	watchRole      begins and ends leader terms, which own the leader's duties (leaderterm.go)
//	Proposer.Run   table of calls and batches → log entries; one goroutine each waits for Raft
//	Forwarder.Run  table of calls → the leader, while that is another node
//	reads.Lead     rounds of confirmation
//	reads.Follow   rounds of asking the leader for a read index, on other nodes
//	sweep          ends calls whose time is over
//	compact        snapshots and the removal of log entries
//	watchDisk      how long the disk takes
//	space.Run      free space, here and, while this node leads, on the other voters' disks
//	watchMembers   cluster id and members → disk; notices the node's removal
//	watchStart     asks what there is to catch up with
//	repairer.Run   replaces a damaged state by that of another member
//	exchange       tells the other nodes how far this one is; learns what they have seen of it
//	receive        other nodes' messages → Raft, but for those that the ballot refuses
//	and the Run of the state machine, of the log, of its mark and of the connections
//
// While a leader's entries are replicated before they are durable, a goroutine of package
// raftlog writes them; closing the log waits for its end.
//
// Raft has its own; it calls applier (its FSM), raftlog.Store, vote.Store and
// snapshot.Store, and through transport the other nodes.
//
// # What the library is not relied on for
//
// hashicorp/raft's VerifyLeader counts late answers and those of non-voters: see
// readindex_test.go, which shows both. Its leases are not used for reads. Its
// followers apply the end of their own log if they are told a high commit index
// by a short message: see transport.go. It accepts a server that lost its disk:
// see admit.go. Its futures may never resolve after a shutdown: see await. It
// goes on after failed writes: see raftlog.Store. It would change term and role beside its
// main loop: see transport.SetHeartbeatHandler. It pauses for up to ten seconds
// before it looks again for a node that was away: see peerWaiter.
//
// # What it does not do
//
// A leader sends again what a log lost, at its end (raftlog.HighWater, ballot.go, exchange.go)
// or by damage before its end (logaside.go). Identity, snapshot marker, term and vote
// have second copies (packages smallfile and vote). A damaged state is replaced by that of
// another member (package staterepair). A damaged log is not replaced with the engine boltdb, nor
// if the other voters are no majority; the error says how to seed the node again from
// the others. The node does not hold up if a majority of disks lose data at
// once, or report syncs that did not happen, or if a node lies.
package raftstore

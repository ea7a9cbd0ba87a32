// Package raftstore is a node of a replicated store: Raft around the state machine of package fsm.
//
//	n, err := raftstore.Open(raftstore.Config{NodeID: "n1", DataDir: dir})
//	go n.Run(ctx)                                  // until ctx ends, or the node must stop
//	r, err := n.Apply(ctx, &turn.Append{…})        // on any node
//	r, err = n.Query(ctx, &turn.Read{…}, turn.Consistency{})
//
// Its parts are packages of their own: datadir (what is on disk: raftlog, vote, snapshot, fsm), propose
// (operations into the log), readindex (linearizable reads), peer (connections), ballot (what a node
// does not vote for), rollback (older copies of its data), membership (which nodes may connect),
// diskspace, staterepair, levels (what may come into the log), requests (what nodes ask each other),
// group (who the members are, and who leads), members (their changes), preference (who is to lead). This
// package connects them, runs Raft, and manages leadership. Only it, datadir, raftlog, ballot, snapshot, group and
// members import Raft.
//
// # Promises
//
//   - Apply returns nil only after the operation was synced in the logs of a majority, and applied. An
//     error means that the operation did not take place or, if it is turn.Unknown, that it may have
//     taken place.
//   - Operations submitted to one node take effect in the order of submission, each at most once,
//     although they are sent again when a leader is lost.
//   - Linearizable queries see every operation that was acknowledged by any node before they began.
//   - A node that cannot trust its disk stops: Run returns the error. A node that lost its disk is
//     rejected under its old name.
//   - Every wait has a deadline, and every queue a bound.
//
// # Writes
//
// Submit encodes the operation and puts it into the table of calls. On the leader, the Proposer packs
// the waiting operations into one log entry and passes it to Raft (writes.go). On another node, the
// Forwarder sends it unchanged to the leader's Proposer. When the state machine has applied the entry
// (applier.go), its calls are resolved. Unresolved calls are sent again, under the same tags and in the
// same order, after any failure in between; the state machine applies a tag once.
//
// # Reads
//
// The leader takes a read index, has a majority of the voters confirm that there is no later leader,
// waits until its state has reached the index, and answers. A follower asks the leader for a read
// index and answers if its own state has reached it, or does so within a millisecond; otherwise it
// forwards the query. Package readindex does this; query.go connects it with Raft and the other nodes.
//
// # Goroutines
//
// Run starts these, and waits for their end:
//
//	watchRole      begins and ends leader terms, which own the leader's duties (leaderterm.go)
//	Proposer.Run   packs calls and batches into log entries; one goroutine per entry waits for Raft
//	Forwarder.Run  sends the calls to the leader, while that is another node
//	reads.Lead     runs rounds that confirm leadership
//	reads.Follow   asks the leader for read indexes, on followers
//	sweep          ends calls whose deadline has passed
//	compact        takes snapshots and truncates the log
//	watchDisk      watches how long syncs take
//	space.Run      watches free space here and, on the leader, on the voters' disks
//	watchMembers   saves cluster id and members; notices the node's removal
//	watchStart     asks how far the node has to catch up after its start
//	preferLeader   on the leader: gives way to a voter that the operator prefers
//	repairer.Run   replaces a damaged state with that of another member
//	detector.Run   tells other nodes this one's progress, and learns what they have seen of it
//	receive        passes other nodes' messages to Raft, except those that the ballot rejects
//	and the Run of the state machine, the log, its high-water mark and the connections
//
// While a leader sends entries before they are durable, a goroutine of package raftlog writes them;
// closing the log waits for it. Raft has goroutines of its own. It calls applier (its FSM),
// raftlog.Store, vote.Store and snapshot.Store, and reaches the other nodes through transport.
//
// # What hashicorp/raft is not relied on for
//
//   - VerifyLeader counts late answers and those of non-voters (readindex_test.go shows both), and
//     leases are not used for reads.
//   - Followers apply the end of their own log if a short message has a high commit index: see
//     transport.go.
//   - It accepts a server that lost its disk: see package membership.
//   - Its futures may never resolve after a shutdown: see group.Await.
//   - It continues after failed writes: see raftlog.Store.
//   - It would change term and role concurrently with its main loop: see
//     transport.SetHeartbeatHandler.
//   - It waits up to ten seconds before it contacts a node that was away: see peerWaiter.
//
// # Damage
//
// A leader sends again what a log lost at its end (raftlog.HighWater, packages ballot and rollback) or
// because of damage before its end (datadir/logaside.go). Identity, snapshot marker, term and vote have
// second copies (packages smallfile and vote). A damaged state is replaced with another member's. A
// damaged log is replaced, too, except with the engine boltdb, or if the other voters are no majority:
// then the error says how to seed the node again. The loss of a majority's disks, disks that falsely
// report syncs on a majority, and nodes that lie are not tolerated.
package raftstore

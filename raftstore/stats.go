package raftstore

import (
	"sync/atomic"
	"time"
)

type counters struct {
	forwardedQueries, ticks, transfers, installed, taken atomic.Uint64
}

// Stats counts what a node did since it was opened.
type Stats struct {
	Calls, CallsOverloaded, CallsRetried    uint64
	OutcomesUnknown, OutcomesUnavailable    uint64
	CallsUnderWay                           int
	Entries, Commands, EntryBytes           uint64 // proposed as the leader
	Forwarded, ForwardBatches               uint64 // calls sent to the leader
	ForwardResets                           uint64
	ReadRounds, ReadsServed                 uint64 // as the leader
	QueriesForwarded                        uint64
	LeaderChanges, Transfers, Ticks         uint64
	SnapshotsTaken, SnapshotsInstalled      uint64
	LogAppends                              uint64
	LogAppendTime                           time.Duration // of all together
	Applied, Durable, FirstIndex, LastIndex uint64
	ReadOnly                                bool
}

// Stats returns the counters.
func (n *Node) Stats() Stats {
	calls := n.calls.statistics()
	s := Stats{
		Calls: calls.submitted, CallsOverloaded: calls.overloaded, CallsRetried: calls.retries,
		OutcomesUnknown: calls.unknown, OutcomesUnavailable: calls.unavailable, CallsUnderWay: n.calls.unresolved(),
		Entries: n.props.stats.entries.Load(), Commands: n.props.stats.commands.Load(), EntryBytes: n.props.stats.bytes.Load(),
		Forwarded: n.forward.sent.Load(), ForwardBatches: n.forward.batches.Load(), ForwardResets: n.forward.resets.Load(),
		ReadRounds: n.reads.held.Load(), ReadsServed: n.reads.served.Load(), QueriesForwarded: n.stats.forwardedQueries.Load(),
		LeaderChanges: n.lead.changes.Load(), Transfers: n.stats.transfers.Load(), Ticks: n.stats.ticks.Load(),
		SnapshotsTaken: n.stats.taken.Load(), SnapshotsInstalled: n.stats.installed.Load(),
		LogAppends: n.logs.syncs.Load(), LogAppendTime: time.Duration(n.logs.syncNanos.Load()),
		FirstIndex: n.logs.engine.FirstIndex(), LastIndex: n.logs.engine.LastIndex(),
		ReadOnly: n.space.refusal() != nil,
	}
	s.Applied, _ = n.state.Applied()
	s.Durable, _ = n.state.Durable()
	return s
}

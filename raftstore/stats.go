package raftstore

import (
	"sync/atomic"
	"time"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/turn"
)

type counters struct {
	ticks, transfers, installed, repairs atomic.Uint64
	flushBytes                           atomic.Uint64
	flushes, snapshots                   timings
}

// timings count how often something was done, how long that took together, and
// when the last time ended.
type timings struct {
	count atomic.Uint64
	nanos atomic.Int64
	last  atomic.Pointer[time.Time] // nil: never
}

func (s *timings) add(took time.Duration, ended time.Time) {
	s.count.Add(1)
	s.nanos.Add(int64(took))
	s.last.Store(&ended)
}

func (s *timings) spent() time.Duration { return time.Duration(s.nanos.Load()) }

func (s *timings) ended() time.Time {
	if t := s.last.Load(); t != nil {
		return *t
	}
	return time.Time{}
}

// flushed counts a flush of the state.
func (c *counters) flushed(s fsm.FlushStats, ended time.Time) {
	c.flushBytes.Add(uint64(s.Bytes))
	c.flushes.add(s.Duration, ended)
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
	StateRepairs                            uint64        // damaged states replaced by another node's
	SnapshotTime                            time.Duration // of those taken
	SnapshotEnded                           time.Time     // the last one; zero: none
	Flushes, FlushBytes                     uint64        // of the state; bytes as estimated in memory
	FlushTime                               time.Duration
	FlushEnded                              time.Time // the last one; zero: none
	BlockReads, BlocksCached                uint64    // of messages; in memory
	LogAppends                              uint64
	LogAppendTime                           time.Duration // of all together
	Applied, Durable, FirstIndex, LastIndex uint64
	// How long changes and queries held the lock of the state at a time.
	StateChanges, StateQueries fsm.LockHolds
	BroadcastsDropped          uint64            // to a node that leaves them unanswered
	ReadOnly                   bool              // what needs disk space is rejected, as far as this node knows
	ShortOfSpace               bool              // this node's own disk has less than the reserve
	FreeBytes                  uint64            // of this node's disk, as last seen
	Level                      turn.ClusterLevel // of the cluster, as far as this node has applied it
}

// Stats returns the counters.
func (n *Node) Stats() Stats {
	calls, proposed, forwarded := n.writes.calls.Stats(), n.writes.proposer.Stats(), n.writes.forwarder.Stats()
	reads := n.reads.LeaderStats()
	s := Stats{
		Calls: calls.Submitted, CallsOverloaded: calls.Overloaded, CallsRetried: calls.Retries,
		OutcomesUnknown: calls.Unknown, OutcomesUnavailable: calls.Unavailable,
		CallsUnderWay: n.writes.calls.Unresolved(),
		Entries:       proposed.Entries, Commands: proposed.Commands, EntryBytes: proposed.Bytes,
		Forwarded: forwarded.Calls, ForwardBatches: forwarded.Batches, ForwardResets: forwarded.Resets,
		ReadRounds: reads.Rounds, ReadsServed: reads.Reads,
		QueriesForwarded: n.reads.Forwarded(),
		LeaderChanges:    n.lead.changes.Load(), Transfers: n.stats.transfers.Load(), Ticks: n.stats.ticks.Load(),
		SnapshotsTaken: n.stats.snapshots.count.Load(), SnapshotsInstalled: n.stats.installed.Load(),
		StateRepairs: n.stats.repairs.Load(),
		SnapshotTime: n.stats.snapshots.spent(), SnapshotEnded: n.stats.snapshots.ended(),
		Flushes: n.stats.flushes.count.Load(), FlushBytes: n.stats.flushBytes.Load(),
		FlushTime: n.stats.flushes.spent(), FlushEnded: n.stats.flushes.ended(),
		FirstIndex: n.logs.FirstDurable(), LastIndex: n.logs.LastDurable(),
		ReadOnly: n.space.Refusal() != nil, ShortOfSpace: n.space.Short() != nil, FreeBytes: n.space.Free(),
		Level: n.state.Level(),
	}
	s.LogAppends, s.LogAppendTime = n.logs.Appends()
	s.BroadcastsDropped = n.casts.Dropped()
	s.StateChanges, s.StateQueries = n.state.LockHolds()
	s.BlockReads, s.BlocksCached = n.state.BlockReads()
	s.Applied, _ = n.state.Applied()
	s.Durable, _ = n.state.Durable()
	return s
}

// OpenFiles returns how many files are open whose number grows with what the node
// stores: block files, and segments of the log.
func (n *Node) OpenFiles() int {
	return n.state.OpenFiles() + n.logs.OpenFiles()
}

package raftstore

import (
	"sync/atomic"
	"time"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/histogram"
	"github.com/turnlog/turnlog/internal/propose"
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
	Calls     CallStats
	Proposed  propose.ProposerStats // as the leader
	Forwarded propose.ForwardStats  // to the leader
	Reads     ReadStats
	Leader    LeaderStats
	Snapshots SnapshotStats
	Flushes   FlushStats
	State     StateStats
	Log       LogStats
	Disk      DiskStats
	// BroadcastsDropped counts those to a node that leaves them unanswered.
	BroadcastsDropped uint64
	Level             turn.ClusterLevel // of the cluster, as far as this node has applied it
}

// CallStats counts the operations that were submitted to the node.
type CallStats struct {
	propose.CallStats
	InFlight int
}

// ReadStats counts linearizable reads.
type ReadStats struct {
	Rounds, Served uint64 // as the leader: confirmations by a majority, and the reads that shared them
	Forwarded      uint64 // to the leader
}

// LeaderStats tells of leadership, and counts what became of it.
type LeaderStats struct {
	Role      string // as in turn.Node
	Known     bool   // this node knows who leads
	Term      uint64
	Committed uint64 // index up to which entries are known to be committed
	Others    int    // other members
	Voters    int    // of all members
	Learners  int    // of all members
	Connected int    // of them, those to which requests get through
	Changes   uint64 // leaders seen
	Transfers uint64 // from this node to another
	Ticks     uint64 // entries that an idle leader proposed
	// Zone is this node's, and Preference how much it is preferred as the leader.
	Zone       string
	Preference int
}

// SnapshotStats counts snapshots.
type SnapshotStats struct {
	Taken, Installed uint64
	Time             time.Duration // of those taken
	Ended            time.Time     // the last one; zero: none
}

// FlushStats counts flushes of the state.
type FlushStats struct {
	Count, Bytes uint64 // bytes as estimated in memory
	Time         time.Duration
	Ended        time.Time // the last one; zero: none
}

// StateStats tells of the state machine.
type StateStats struct {
	Applied, Durable         uint64 // indexes of the log
	Keys                     uint64 // that clients see, of all namespaces
	Clock                    int64  // cluster time, Unix milliseconds
	Damaged                  bool   // not repaired yet
	Repairs                  uint64 // damaged states replaced by another node's
	BlockReads, BlocksCached uint64 // of messages; in memory
	// Changes and Queries tell how long these held the lock of the state at a time.
	Changes, Queries histogram.Report
}

// LogStats tells of the log.
type LogStats struct {
	Appends     histogram.Report // durations of synced appends
	First, Last uint64           // indexes
}

// DiskStats tells of the space on disks.
type DiskStats struct {
	ReadOnly bool   // what needs disk space is rejected, as far as this node knows
	Short    bool   // this node's own disk has less than the reserve
	Free     uint64 // bytes of this node's disk, as last seen
}

// Stats returns the counters.
func (n *Node) Stats() Stats {
	reads, flushes, snapshots := n.reads.LeaderStats(), &n.stats.flushes, &n.stats.snapshots
	return Stats{
		Calls:     CallStats{n.writes.calls.Stats(), n.writes.calls.Unresolved()},
		Proposed:  n.writes.proposer.Stats(),
		Forwarded: n.writes.forwarder.Stats(),
		Reads:     ReadStats{Rounds: reads.Rounds, Served: reads.Reads, Forwarded: n.reads.Forwarded()},
		Leader:    n.leaderStats(),
		Snapshots: SnapshotStats{
			Taken: snapshots.count.Load(), Installed: n.stats.installed.Load(),
			Time: snapshots.spent(), Ended: snapshots.ended(),
		},
		Flushes: FlushStats{
			Count: flushes.count.Load(), Bytes: n.stats.flushBytes.Load(),
			Time: flushes.spent(), Ended: flushes.ended(),
		},
		State: n.stateStats(),
		Log:   n.logStats(),
		Disk: DiskStats{
			ReadOnly: n.space.Refusal() != nil, Short: n.space.Short() != nil, Free: n.space.Free(),
		},
		BroadcastsDropped: n.casts.Dropped(),
		Level:             n.data.State.Level(),
	}
}

func (n *Node) leaderStats() LeaderStats {
	s := LeaderStats{
		Role: n.role(), Changes: n.lead.Changes.Load(), Transfers: n.stats.transfers.Load(),
		Ticks: n.stats.ticks.Load(), Zone: n.cfg.Zone, Preference: n.cfg.Preference.Node,
	}
	leader, _ := n.lead.Leader()
	s.Known = leader != ""
	_, s.Term, s.Committed = n.raft.State()
	for _, m := range n.raft.Configuration() {
		if m.Voter {
			s.Voters++
		} else {
			s.Learners++
		}
		if m.ID == n.id {
			continue
		}
		s.Others++
		if n.net.Connected(m.ID) {
			s.Connected++
		}
	}
	return s
}

func (n *Node) stateStats() (s StateStats) {
	s.Changes, s.Queries = n.data.State.LockHolds()
	s.BlockReads, s.BlocksCached = n.data.State.BlockReads()
	s.Applied, _ = n.data.State.Applied()
	s.Durable, _ = n.data.State.Durable()
	s.Repairs = n.stats.repairs.Load()
	s.Keys, s.Clock = n.data.State.Keys(), n.data.State.Clock()
	damage, _ := n.data.State.Damage()
	s.Damaged = damage != nil
	return s
}

func (n *Node) logStats() (s LogStats) {
	s.Appends = n.data.Log.Appends()
	s.First, s.Last = n.data.Log.FirstDurable(), n.data.Log.LastDurable()
	return s
}

// OpenFiles returns how many files are open whose number grows with what the node
// stores: block files, and segments of the log.
func (n *Node) OpenFiles() int {
	return n.data.OpenFiles()
}

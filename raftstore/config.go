package raftstore

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/clustertime"
	"github.com/turnlog/turnlog/internal/datadir"
	"github.com/turnlog/turnlog/internal/diskspace"
	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/internal/preference"
	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/trace"
	"github.com/turnlog/turnlog/turn"
	"github.com/turnlog/turnlog/wal"
)

// Config configures a Node. NodeID and DataDir are required; a zero in any
// other field means its default.
type Config struct {
	NodeID  string // 1–64 bytes; the node's name for as long as it is a member
	DataDir string // of this node alone; made if it is not there

	Peers   Peers
	Clients ClientAddrs
	Version string // of the program; shown to those that ask about the cluster

	// InitialCluster is the first configuration: node id → address. It is the
	// same on all nodes and on every start. Empty: a cluster of this node alone.
	InitialCluster map[string]string
	// Join makes an empty node wait until AddNode is called for it elsewhere.
	Join bool

	// HoldLevel, if set, keeps the cluster at that level, unless its level is already higher, as long
	// as this node is a member. The node can then go back to the version that knows only that level.
	// Nil: the level rises when all members support a higher one.
	HoldLevel *turn.ClusterLevel

	// Zone is where the node is, as the operator calls it. The other nodes and clients are told.
	Zone       string
	Preference LeaderPreference

	Limits    turn.Limits
	State     fsm.Config // Dir and Logger are set by the Node
	Log       Log
	Consensus Consensus
	Calls     CallBounds
	Storage   StorageBounds

	Clock  clustertime.Clock
	Logger *slog.Logger  // nil: discard
	Tracer *trace.Tracer // nil: nothing is traced

	unaware bool // for tests: of levels, as versions before them
}

// LeaderPreference says which node should lead.
type LeaderPreference struct {
	// Node is this node's: a leader transfers leadership to a voter that has a higher one. Zero on all nodes: none is
	// preferred.
	Node int
	// Settle, 10 s, is how long such a voter must have been able to lead: see package preference.
	Settle time.Duration
}

// Peers is how a node connects with the other nodes.
type Peers struct {
	// Addr is the address to listen on for other nodes, Advertise the one
	// that they dial; default: the address of InitialCluster, or the listener's.
	// Listener, if set, is used in place of Addr, and closed by the Node.
	Addr      string
	Advertise string
	Listener  net.Listener
	// Dial, TLS and Secret are those of peer.Config.
	Dial   func(ctx context.Context, addr string) (net.Conn, error)
	TLS    *peer.TLS
	Secret *peer.Secret
	// Closed, if not empty, is why this node has nothing to do with other nodes: none
	// gets a connection, none can be added, and a member of a larger cluster does not open.
	Closed string
	// Greetings and Conns bound the connections that other nodes open: see peer.Config.
	Greetings, Conns int
}

// ClientAddrs are told to clients; the Node does not use them.
type ClientAddrs struct{ RESPAddr, HTTPAddr string }

// Log is what keeps a node's log.
type Log struct {
	// Engine is "wal" or "boltdb". A data directory keeps its engine.
	Engine string
	Disk   wal.FS // for tests: the disk under engine "wal", term and vote

	wrap func(raftlog.Engine) raftlog.Engine // for tests: what is between the node and its log
}

// Consensus holds the settings of Raft.
type Consensus struct {
	Heartbeat time.Duration // 600 ms without a leader start an election
	Election  time.Duration // 600 ms; at least Heartbeat
	Lease     time.Duration // 400 ms without a majority end a leader's term
	Commit    time.Duration // 50 ms: idle followers learn the commit index within twice this
	RPC       time.Duration // 3 s for one exchange between nodes
	// SnapshotStall, 10 s, is how long a node waits for more of a snapshot, or of another message that has begun,
	// before it takes its sender to be gone.
	SnapshotStall time.Duration
	// MaxEntries and MaxBytes bound one replication message: 64 and 16 MiB.
	MaxEntries int
	MaxBytes   int
}

// CallBounds bounds the calls in flight.
type CallBounds struct {
	LeaderWait  time.Duration // 2.5 s: how long a call waits for a leader to send it to
	OutcomeWait time.Duration // 5 s: how long a call that was sent waits for its outcome
	DrainWait   time.Duration // 5 s: how long a node that stops hands over and waits for its calls
	MaxBytes    int           // 64 MiB of operations in this node's table
	MaxCalls    int           // 32,768 of them; at most 65,536
	// A log entry holds at most EntryCommands commands (1,024) and EntryBytes bytes (256 KiB), except
	// for a single command that is larger. Waiting commands are sent at once if no entry is in flight.
	// While fewer than Depth entries are in flight, they are sent once there are Overlap of them,
	// because an entry costs the same however few commands it holds.
	EntryCommands int
	EntryBytes    int
	Depth         int // 2
	Overlap       int // 64
	// ForwardDepth is how many batches may be in flight to the leader: 4.
	ForwardDepth int
}

// StorageBounds holds the settings of log, snapshots and disk.
type StorageBounds struct {
	SegmentBytes int64 // of engine wal: 64 MiB
	LogCache     int64 // bytes of recent log kept in memory by engine wal: 16 MiB
	CompactBytes int64 // 64 MiB of log since the last snapshot call for a new one
	TailBytes    int64 // 64 MiB of log stay behind a snapshot for followers that lag
	SnapshotRate int64 // bytes a second that a snapshot is sent with: 128 MiB; negative: no bound
	CheckEvery   time.Duration
	// ReserveBytes of free space (64 MiB) are reserved for operations that free space. With less on a
	// majority of the disks, other operations are rejected until one and a half times as much is free.
	ReserveBytes uint64
	// FreeBytes returns the free space of a directory's disk; FreeFiles returns how many more files it
	// can hold, if that is bounded. Default: statfs.
	FreeBytes func(dir string) (uint64, error)
	FreeFiles func(dir string) (n uint64, bounded bool, err error)
	// If a sync of the log takes SlowSync (2 s), a leader has another node stand for election. If it
	// takes StuckSync (30 s), the node stops.
	SlowSync, StuckSync time.Duration
}

func (c *Config) setDefaults() error {
	if err := datadir.Valid(c.NodeID, c.DataDir, c.Log.Engine); err != nil {
		return err
	}
	if addr, ok := c.InitialCluster[c.NodeID]; ok {
		c.Peers.Advertise = cmp.Or(c.Peers.Advertise, addr)
	} else if len(c.InitialCluster) > 0 && !c.Join {
		return fmt.Errorf("node %s is not part of the initial cluster; add it, or set Join", c.NodeID)
	}
	c.Peers.Addr = cmp.Or(c.Peers.Addr, c.Peers.Advertise, "127.0.0.1:7381")
	if c.Limits == (turn.Limits{}) {
		c.Limits = turn.DefaultLimits()
	}
	if c.Clock == nil {
		c.Clock = clustertime.System{}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Preference.Settle = cmp.Or(c.Preference.Settle, preference.DefaultSettle)
	c.Consensus.setDefaults()
	c.Storage.setDefaults()
	return c.Calls.setDefaults()
}

func (c *Consensus) setDefaults() {
	c.Heartbeat = cmp.Or(c.Heartbeat, 600*time.Millisecond)
	c.Election = cmp.Or(c.Election, c.Heartbeat)
	c.Lease = cmp.Or(c.Lease, min(c.Heartbeat, 400*time.Millisecond))
	c.Commit = cmp.Or(c.Commit, 50*time.Millisecond)
	c.RPC = cmp.Or(c.RPC, 3*time.Second)
	c.SnapshotStall = cmp.Or(c.SnapshotStall, 10*time.Second)
	c.MaxEntries = cmp.Or(c.MaxEntries, 64)
	c.MaxBytes = cmp.Or(c.MaxBytes, 16<<20)
}

// knownLevel is the highest level that this node's version knows.
func (c *Config) knownLevel() turn.ClusterLevel {
	if c.unaware {
		return turn.Level0
	}
	return turn.NewestLevel
}

// maxAskTime bounds askTime.
const maxAskTime = 600 * time.Millisecond

// askTime is how long a node that starts waits at most for the answers of the others. No node
// stands for election that early.
func (c *Consensus) askTime() time.Duration { return min(c.Heartbeat, maxAskTime) }

func (c *CallBounds) setDefaults() error {
	c.LeaderWait = cmp.Or(c.LeaderWait, 2500*time.Millisecond)
	c.OutcomeWait = cmp.Or(c.OutcomeWait, 5*time.Second)
	c.DrainWait = cmp.Or(c.DrainWait, 5*time.Second)
	c.MaxBytes = cmp.Or(c.MaxBytes, 64<<20)
	c.MaxCalls = cmp.Or(c.MaxCalls, 32768)
	c.EntryCommands = cmp.Or(c.EntryCommands, 1024)
	c.EntryBytes = cmp.Or(c.EntryBytes, 256<<10)
	c.Depth = cmp.Or(c.Depth, 2)
	c.Overlap = cmp.Or(c.Overlap, 64)
	c.ForwardDepth = cmp.Or(c.ForwardDepth, 4)
	if c.MaxCalls > 1<<16 {
		return fmt.Errorf("at most 65,536 calls can be in flight, %d are configured", c.MaxCalls)
	}
	return nil
}

func (c *CallBounds) bounds() propose.Bounds {
	return propose.Bounds{
		LeaderWait: c.LeaderWait, OutcomeWait: c.OutcomeWait, MaxBytes: c.MaxBytes, MaxCalls: c.MaxCalls,
		EntryCommands: c.EntryCommands, EntryBytes: c.EntryBytes, Depth: c.Depth, Overlap: c.Overlap,
		ForwardDepth: c.ForwardDepth,
	}
}

func (c *StorageBounds) setDefaults() {
	c.CompactBytes = cmp.Or(c.CompactBytes, 64<<20)
	c.TailBytes = cmp.Or(c.TailBytes, 64<<20)
	c.CheckEvery = cmp.Or(c.CheckEvery, time.Second)
	c.ReserveBytes = cmp.Or(c.ReserveBytes, 64<<20)
	c.SegmentBytes = cmp.Or(c.SegmentBytes, 64<<20)
	if c.FreeBytes == nil {
		c.FreeBytes = diskspace.FreeBytes
	}
	if c.FreeFiles == nil {
		c.FreeFiles = diskspace.FreeFiles
	}
	c.SlowSync = cmp.Or(c.SlowSync, 2*time.Second)
	c.StuckSync = cmp.Or(c.StuckSync, 30*time.Second)
}

package raftstore

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/answers"
	"github.com/turnlog/turnlog/internal/ballot"
	"github.com/turnlog/turnlog/internal/broadcast"
	"github.com/turnlog/turnlog/internal/datadir"
	"github.com/turnlog/turnlog/internal/group"
	"github.com/turnlog/turnlog/internal/levels"
	"github.com/turnlog/turnlog/internal/members"
	"github.com/turnlog/turnlog/internal/newcluster"
	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/internal/requests"
	"github.com/turnlog/turnlog/internal/signal"
)

// Open opens the files of a node and binds its address. It starts nothing. The
// Node must be given to Run, or to Close.
func Open(cfg Config) (_ *Node, err error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	log := cfg.Logger.With("node", cfg.NodeID)
	n := &Node{
		cfg: cfg, id: cfg.NodeID, log: log,
		lead:      group.NewKnownLeader(cfg.NodeID),
		consensus: consensus{raft: group.Group{Self: cfg.NodeID}},
		backups:   signal.NewGate(),
		signals:   newSignals(),
		lifecycle: lifecycle{checked: make(chan struct{}), failure: datadir.NewFailure(log)},
	}
	n.cfg.Logger = n.log
	defer func() {
		if err != nil {
			_ = n.Close()
		}
	}()
	if err := datadir.MayStart(cfg.DataDir); err != nil {
		return nil, err
	}
	if err := n.openData(); err != nil {
		return nil, err
	}
	// A recovery that had the directory locked may have marked it meanwhile.
	if err := datadir.MayStart(cfg.DataDir); err != nil {
		return nil, err
	}
	newcluster.TellOrigin(cfg.DataDir, n.log)
	if err := n.listen(); err != nil {
		return nil, err
	}
	n.wire()
	return n, nil
}

func (n *Node) openData() (err error) {
	n.repairer = n.newRepairer()
	state := n.cfg.State
	state.ReadBytes = n.cfg.Limits.ReadBytes
	told := state.OnFlush
	state.OnFlush = func(s fsm.FlushStats) {
		n.stats.flushed(s, time.Now())
		n.signals.flushed.Notify()
		if told != nil {
			told(s)
		}
	}
	log, storage := &n.cfg.Log, &n.cfg.Storage
	if n.data, err = datadir.Open(datadir.Config{
		Path: n.cfg.DataDir, NodeID: n.id,
		Engine: log.Engine, SegmentBytes: storage.SegmentBytes, LogCache: storage.LogCache,
		Grow:         n.logMayGrow,
		SnapshotRate: storage.SnapshotRate, Disk: log.Disk, Wrap: log.wrap,
		State: state, OpenState: n.repairer.Open, Clock: n.cfg.Clock, Closed: n.cfg.Peers.Closed,
		Raft: logRaft{n}, Failure: n.failure, Logger: n.log,
	}); err != nil {
		return err
	}
	n.ballot = ballot.New(ballot.Config{
		Self: n.id, Mark: n.data.Mark, Clock: time.Now, Configuration: n.raft.Latest, Same: n.data.CheckSame,
	})
	return n.openSeen(n.cfg.DataDir)
}

// logRaft implements datadir.Raft.
type logRaft struct{ node *Node }

func (l logRaft) Runs() bool { return l.node.raft.Load() != nil }

func (l logRaft) Latest() raft.Configuration { return l.node.raft.Latest() }

func (l logRaft) Committed() uint64 {
	_, _, commit := l.node.raft.State()
	return commit
}

func (l logRaft) Leads() bool { return l.node.raft.Leads() }

func (l logRaft) Placed() { l.node.writes.proposer.Placed() }

func (n *Node) listen() (err error) {
	if n.cfg.Peers.Listener == nil {
		if n.cfg.Peers.Listener, err = net.Listen("tcp", n.cfg.Peers.Addr); err != nil {
			return fmt.Errorf("listen for other nodes: %w", err)
		}
	}
	n.cfg.Peers.Advertise = cmp.Or(n.cfg.Peers.Advertise, n.cfg.Peers.Listener.Addr().String())
	return nil
}

// wire connects the parts with each other.
func (n *Node) wire() {
	n.policy = n.newPolicy()
	n.net = peer.New(peer.Config{
		Listener: n.cfg.Peers.Listener, Advertise: n.cfg.Peers.Advertise,
		Self: n.facts, Admit: n.admit, Refused: n.policy.Rejected, Connected: n.connected,
		Say:      func(m peer.Meeting) []byte { return n.detector.Say(m) },
		Begin:    n.begin,
		Serve:    func(ctx context.Context, r peer.Request) ([]byte, error) { return n.answers.Serve(ctx, r) },
		Ordered:  func(r peer.Request, reply func([]byte, error)) { n.answers.Ordered(r, reply) },
		Transfer: func(ctx context.Context, c net.Conn, to peer.Facts) { n.repairer.Send(ctx, c, to.NodeID) },
		Dial:     n.cfg.Peers.Dial, TLS: n.cfg.Peers.TLS, Secret: n.cfg.Peers.Secret,
		Closed: n.cfg.Peers.Closed, Logger: n.log,
		Bounds: peer.Bounds{Greetings: n.cfg.Peers.Greetings, Conns: n.cfg.Peers.Conns},
		// a node that starts may have to be dialed to hear what this one has seen: see rollback.Detector
		Timing: peer.Timing{Stall: n.cfg.Consensus.SnapshotStall, RetryMax: n.cfg.Consensus.askTime() / 2},
	})
	n.peers = requests.Client{Net: n.net}
	n.waiter = newPeerWaiter(n.raft.Replicates, n.net.Connected)
	n.space = n.newSpace()
	n.levels = levels.New(levels.Config{
		Node: n.id, Known: n.cfg.knownLevel(), Hold: n.cfg.HoldLevel, Limits: n.cfg.Limits,
		Level: n.Level, Recorded: n.data.Recorded, Leader: n.lead.Leader,
		Members: func() []string { return n.raft.Configuration().IDs() }, Status: n.statusOf,
		LeaderWait: n.cfg.Calls.LeaderWait, Logger: n.log,
	})
	n.writes = n.newWrites()
	n.members = members.New(members.Config{
		Node: n.id, Addr: n.cfg.Peers.Advertise, Closed: n.cfg.Peers.Closed,
		Raft: &n.raft, Lead: n.lead, Data: n.data, Peers: n.peers, Status: n.statusOf,
		Term: n.writes.proposer.Current, Propose: n.writes.propose,
		HandOver: n.TransferLeadership, Room: n.roomForChange, Changed: n.signals.roleChanged.Notify,
		Joining: n.levels.Joining, LeaderWait: n.cfg.Calls.LeaderWait, Logger: n.log,
	})
	n.reads = n.newReader()
	n.detector = n.newDetector()
	n.casts = broadcast.New(rand.Uint64(), n.peers.Cast, n.raft.Others)
	n.answers = &requests.Server{
		Reads: n.reads, Memory: answers.NewBudget(n.cfg.Limits, n.cfg.Calls.LeaderWait),
		Inbox: n.writes.inbox, Casts: n.casts,
		Tracer: n.cfg.Tracer, Traces: n.writes.tracing,
		Promises: n.ballot.Ready,
		Promised: func() uint64 { return max(n.data.Vote.Promised(), n.ballot.Forgotten()) },
		Status:   n.status, Notice: n.heed, Change: n.members.Make,
		Seen: n.detector.Answer, Running: func() bool { return n.raft.Load() != nil },
	}
}

package raftstore

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync/atomic"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/ballot"
	"github.com/turnlog/turnlog/internal/broadcast"
	"github.com/turnlog/turnlog/internal/clustertime"
	"github.com/turnlog/turnlog/internal/datadir"
	"github.com/turnlog/turnlog/internal/diskspace"
	"github.com/turnlog/turnlog/internal/group"
	"github.com/turnlog/turnlog/internal/levels"
	"github.com/turnlog/turnlog/internal/members"
	"github.com/turnlog/turnlog/internal/membership"
	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/internal/readindex"
	"github.com/turnlog/turnlog/internal/requests"
	"github.com/turnlog/turnlog/internal/rollback"
	"github.com/turnlog/turnlog/internal/signal"
	"github.com/turnlog/turnlog/internal/staterepair"
	"github.com/turnlog/turnlog/turn"
)

// Node is a member of a cluster: it holds all data, serves every request, and takes part in the
// agreement on each write. Open makes one, and Run runs it. All other methods may be called by any
// goroutine at any time; while Run does not run, they fail with Unavailable.
type Node struct {
	cfg Config
	id  string
	log *slog.Logger

	data      *datadir.Dir // what is on disk
	consensus              // Raft, and what is between it and the other nodes
	network                // the other nodes
	members   *members.Changes
	lead      *group.KnownLeader

	reads    *readindex.Reader
	writes   *writes
	levels   *levels.Levels
	space    *diskspace.Watcher
	casts    *broadcast.Broadcaster
	repairer *staterepair.Repairer
	detector *rollback.Detector
	answers  *requests.Server // to other nodes
	backups  signal.Gate      // one at a time

	signals signals
	stats   counters
	lifecycle
}

// consensus is Raft, and what is between it and the other nodes. Run starts it.
type consensus struct {
	raft    group.Group
	applier *applier // nil until Run has started Raft
	trans   *transport
	waiter  *peerWaiter
	ballot  *ballot.Ballot
}

// network is the connections to other nodes, and what is known of those nodes.
type network struct {
	net     *peer.Network
	peers   requests.Client // over net
	seen    *rollback.Observations
	policy  *membership.Policy // with which nodes to have to do
	offsets clustertime.Offsets
}

// lifecycle is where a node is between its start and its end.
type lifecycle struct {
	checked  chan struct{} // closed when the log was held against its mark
	begun    atomic.Uint64 // commit index when a leader was first heard of, plus 1; 0: none was
	failure  *datadir.Failure
	stopping atomic.Bool
}

// signals tell the node's goroutines to look again.
type signals struct {
	roleChanged signal.Channel // another node may lead
	flushed     signal.Channel // the state was flushed
}

func newSignals() signals {
	return signals{roleChanged: signal.New(), flushed: signal.New()}
}

// Close closes the files of a Node that was not given to Run.
func (n *Node) Close() error {
	var err error
	if n.data != nil {
		err = n.data.Close()
	}
	if n.cfg.Peers.Listener != nil {
		if end := n.cfg.Peers.Listener.Close(); end != nil && !errors.Is(end, net.ErrClosed) {
			err = errors.Join(err, end)
		}
	}
	return err
}

// Members returns what adds and removes nodes, and makes the leader transfer leadership.
func (n *Node) Members() *members.Changes { return n.members }

// Casts returns the exchange of messages with the other nodes outside the log.
func (n *Node) Casts() *broadcast.Broadcaster { return n.casts }

// Level returns the cluster's level as far as this node has applied it.
func (n *Node) Level() turn.ClusterLevel { return n.data.State.Level() }

// Leader returns the leader's id, empty if none is known, and a channel that is
// closed when that may have changed.
func (n *Node) Leader() (id string, changed <-chan struct{}) { return n.lead.Leader() }

// Limits returns the limits that this node enforces.
func (n *Node) Limits() turn.Limits { return n.cfg.Limits }

// Watch returns a channel that gets a token after changes of a session on this
// node; tokens that are not taken merge into one. stop ends it.
func (n *Node) Watch(k turn.Key) (changed <-chan struct{}, stop func()) { return n.data.State.Watch(k) }

// Calm returns when this node has room for work that can wait. It is called between the steps of a long
// deletion, so that other operations do not wait for it.
func (n *Node) Calm(ctx context.Context) error {
	if err := n.data.State.Calm(ctx); err != nil {
		return unavailable("the node is too busy for long operations: %v", err)
	}
	return nil
}

// applied is told of each entry that the state machine applied.
func (n *Node) applied(_, term uint64, outs []fsm.Outcome) { n.writes.calls.Applied(term, outs) }

// jumped is told that a snapshot replaced the state. What became of calls in the
// entries that it covers is learned by sending them again.
func (n *Node) jumped() {
	n.stats.installed.Add(1)
	index, term := n.data.State.Applied()
	n.log.Info("snapshot installed", "index", index)
	n.writes.calls.Applied(term, nil)
	n.writes.forwarder.Wake()
	n.lead.Announce()
}

func unavailable(format string, args ...any) *turn.Error {
	return turn.Errorf(turn.Unavailable, format, args...)
}

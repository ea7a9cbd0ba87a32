package raftstore

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/ballot"
	"github.com/turnlog/turnlog/internal/broadcast"
	"github.com/turnlog/turnlog/internal/clustertime"
	"github.com/turnlog/turnlog/internal/diskspace"
	"github.com/turnlog/turnlog/internal/identity"
	"github.com/turnlog/turnlog/internal/membership"
	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/readindex"
	"github.com/turnlog/turnlog/internal/rollback"
	"github.com/turnlog/turnlog/internal/signal"
	"github.com/turnlog/turnlog/internal/snapshot"
	"github.com/turnlog/turnlog/internal/staterepair"
	"github.com/turnlog/turnlog/internal/vote"
	"github.com/turnlog/turnlog/turn"
)

// Node is a member of a cluster: it holds all data, serves every request, and
// takes its part in agreeing on each write. Open makes one, Run runs it; all
// other methods may be called by any goroutine at any time and fail, as
// Unavailable, while Run does not run.
type Node struct {
	cfg Config
	id  string
	log *slog.Logger

	storage   // what is on disk
	consensus // Raft, and what is between it and the other nodes
	network   // the other nodes
	members   *memberChanges
	lead      *knownLeader

	reads    *readindex.Reader
	writes   *writes
	space    *diskspace.Watcher
	casts    *broadcast.Broadcaster
	repairer *staterepair.Repairer
	detector *rollback.Detector
	backups  gate // one at a time

	signals signals
	stats   counters
	lifecycle
}

// storage is what a node has on disk. A part that is not open is nil.
type storage struct {
	ident  *identity.Identity
	state  *fsm.Machine
	logs   *raftlog.Store
	mark   *raftlog.HighWater
	stable *vote.Store
	snaps  *snapshot.Store
}

func (s *storage) close() error {
	var open []io.Closer
	if s.state != nil {
		open = append(open, s.state)
	}
	if s.logs != nil {
		open = append(open, s.logs)
	}
	if s.mark != nil {
		open = append(open, s.mark)
	}
	if s.stable != nil {
		open = append(open, s.stable)
	}
	var errs []error
	for _, c := range open {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// consensus is Raft, and what is between it and the other nodes. Run starts it.
type consensus struct {
	raft    group
	applier *applier // nil until Run has started Raft
	trans   *transport
	waiter  *peerWaiter
	ballot  *ballot.Ballot
}

// network is the connections to other nodes, and what is known of those nodes.
type network struct {
	net     *peer.Network
	seen    *rollback.Observations
	policy  *membership.Policy // with which nodes to have to do
	offsets clustertime.Offsets
}

// lifecycle is where a node is between its start and its end.
type lifecycle struct {
	checked  chan struct{} // closed when the log was held against its mark
	begun    atomic.Uint64 // commit index when a leader was first heard of, plus 1; 0: none was
	failure  failure
	keeping  keeping
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
	err := n.storage.close()
	if n.cfg.Peers.Listener != nil {
		if end := n.cfg.Peers.Listener.Close(); end != nil && !errors.Is(end, net.ErrClosed) {
			err = errors.Join(err, end)
		}
	}
	return err
}

// Limits returns the limits that this node enforces.
func (n *Node) Limits() turn.Limits { return n.cfg.Limits }

// Watch returns a channel that gets a token after changes of a session on this
// node; tokens that are not taken merge into one. stop ends it.
func (n *Node) Watch(k turn.Key) (changed <-chan struct{}, stop func()) { return n.state.Watch(k) }

// Calm returns when this node has room for more work that can wait: to be asked
// between the steps of a long deletion, lest others wait for it.
func (n *Node) Calm(ctx context.Context) error {
	if err := n.state.Calm(ctx); err != nil {
		return unavailable("the node is too busy for long operations: %v", err)
	}
	return nil
}

// applied is told of each entry that the state machine applied.
func (n *Node) applied(index, _ uint64, outs []fsm.Outcome) {
	if len(outs) > 0 {
		n.writes.calls.Applied(outs)
	}
}

// jumped is told that a snapshot replaced the state. What became of calls in the
// entries that it covers is learned by sending them again.
func (n *Node) jumped() {
	n.stats.installed.Add(1)
	index, _ := n.state.Applied()
	n.log.Info("snapshot installed", "index", index)
	n.writes.forwarder.Wake()
	n.lead.announce()
}

// promised returns the highest term in which this node promised anything, or may have and forgotten
// it: a leader of an earlier one was perhaps replaced with its vote.
func (n *Node) promised() uint64 { return max(n.stable.Promised(), n.ballot.Forgotten()) }

// known returns what this node knows to be committed.
func (n *Node) known() raftlog.Known {
	var k raftlog.Known
	k.Applied.Index, k.Applied.Term = n.state.Applied()
	_, _, k.Commit = n.raft.state()
	return k
}

// await waits for a future, but no longer than ctx: Raft loses futures when it
// is shut down. The goroutine that waits on is lost with it.
func await(ctx context.Context, f raft.Future) error {
	done := make(chan error, 1)
	go func() { done <- f.Error() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

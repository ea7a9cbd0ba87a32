package raftstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/codec"
	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/peer"
	"github.com/turnlog/turnlog/turn"
	"github.com/turnlog/turnlog/wal"
)

// Node is a member of a cluster: it holds all data, serves every request, and
// takes its part in agreeing on each write. Open makes one, Run runs it; all
// other methods may be called by any goroutine at any time and fail, as
// Unavailable, while Run does not run.
type Node struct {
	cfg   Config
	id    string
	log   *slog.Logger
	ident *identity

	state   *fsm.Machine
	logs    *logStore
	stable  *stableStore
	snaps   *snapshotStore
	net     *peer.Network
	trans   *transport
	raft    atomic.Pointer[raft.Raft] // nil until Run has started it
	lead    *leadership
	calls   *calls
	props   *proposer
	forward *forwarder
	inbox   *inbox
	reads   *reads
	space   *diskSpace
	offsets offsets
	fresh   freshness
	stats   counters

	system struct {
		origin uint64 // of the operations that this node proposes by itself
		last   atomic.Uint64
	}
	standing chan struct{} // cap 1: who leads may have changed
	begun    atomic.Uint64 // commit index when a leader was first heard of, plus 1; 0: none was

	failOnce sync.Once
	failed   chan struct{} // closed by fail
	failure  error         // why; read it only after failed is closed
	stopping atomic.Bool
}

// Open opens the files of a node and binds its address. It starts nothing. The
// Node must be given to Run, or to Close.
func Open(cfg Config) (_ *Node, err error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	n := &Node{
		cfg: cfg, id: cfg.NodeID, log: cfg.Logger.With("node", cfg.NodeID),
		lead:     newLeadership(cfg.NodeID),
		standing: make(chan struct{}, 1),
		failed:   make(chan struct{}),
		space:    &diskSpace{},
	}
	n.cfg.Logger = n.log
	n.system.origin = rand.Uint64() | 1
	defer func() {
		if err != nil {
			_ = n.Close()
		}
	}()
	if err := n.openFiles(); err != nil {
		return nil, err
	}
	if err := n.listen(); err != nil {
		return nil, err
	}
	n.wire()
	return n, nil
}

func (n *Node) openFiles() (err error) {
	dir := n.cfg.DataDir
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	// The term comes first: its file is locked while a process has it open.
	if n.stable, err = openStable(filepath.Join(dir, "raft.db"), n.halt); err != nil {
		return err
	}
	if n.ident, err = openIdentity(dir, n.id); err != nil {
		return err
	}
	e, err := n.openEngine(dir)
	if err != nil {
		return err
	}
	n.logs = &logStore{engine: e, halt: n.halt}
	state := n.cfg.State
	state.Dir, state.Logger, state.ReadBytes = dir, n.log, n.cfg.Limits.ReadBytes
	if n.state, err = fsm.Open(state); err != nil {
		return err
	}
	n.snaps, err = openSnapshots(filepath.Join(dir, "snapshots"), n.state)
	return err
}

const (
	walName  = "wal"
	boltName = "log.db"
)

func (n *Node) openEngine(dir string) (engine, error) {
	bolt, folder := filepath.Join(dir, boltName), filepath.Join(dir, walName)
	if n.cfg.LogEngine == "boltdb" {
		if _, err := os.Stat(folder); err == nil {
			return nil, fmt.Errorf("raftstore: the log in %s is kept by engine wal", dir)
		}
		return openBoltLog(bolt)
	}
	if _, err := os.Stat(bolt); err == nil {
		return nil, fmt.Errorf("raftstore: the log in %s is kept by engine boltdb", dir)
	}
	l, err := wal.Open(folder, wal.Options{
		SegmentBytes: n.cfg.Storage.SegmentBytes, CacheBytes: n.cfg.Storage.LogCache, FS: n.cfg.LogDisk, Logger: n.log,
	})
	if err != nil {
		return nil, err
	}
	return &walLog{Log: l}, nil
}

func (n *Node) listen() (err error) {
	if n.cfg.Listener == nil {
		if n.cfg.Listener, err = net.Listen("tcp", n.cfg.RaftAddr); err != nil {
			return fmt.Errorf("raftstore: listen for other nodes: %w", err)
		}
	}
	def(&n.cfg.Advertise, n.cfg.Listener.Addr().String())
	return nil
}

// wire connects the parts with each other.
func (n *Node) wire() {
	n.calls = newCalls(n.cfg.Calls, rand.Uint64()|1, n.cfg.Clock.Now, n.callsWait)
	n.props = newProposer(n.cfg.Calls, n.calls, n.space.refusal, n.log)
	n.inbox = &inbox{proposer: n.props, sessions: make(map[string]*inSession)}
	n.net = peer.New(peer.Config{
		Listener: n.cfg.Listener, Advertise: n.cfg.Advertise,
		Self: n.facts, Admit: n.admit, Refused: n.refused, Connected: n.connected,
		Serve: n.serve, Ordered: n.ordered,
		Dial: n.cfg.Dial, TLS: n.cfg.TLS, Logger: n.log,
	})
	n.forward = &forwarder{bounds: n.cfg.Calls, calls: n.calls, net: n.net, lead: n.lead, wake: make(chan struct{}, 1)}
	n.reads = &reads{
		lead: n.lead, net: n.net, voter: n.voters, state: n.raftState,
		limit: min(n.cfg.Consensus.Heartbeat, time.Second), wake: make(chan struct{}, 1),
	}
}

// callsWait tells whoever may take calls that some wait.
func (n *Node) callsWait() {
	poke(n.props.wake)
	poke(n.forward.wake)
}

// Close closes the files of a Node that was not given to Run.
func (n *Node) Close() error {
	var errs []error
	for _, c := range []func() error{
		func() error { return closeIf(n.state != nil, func() error { return n.state.Close() }) },
		func() error { return closeIf(n.logs != nil, func() error { return n.logs.Close() }) },
		func() error { return closeIf(n.stable != nil, func() error { return n.stable.Close() }) },
		func() error { return closeIf(n.cfg.Listener != nil, func() error { return n.cfg.Listener.Close() }) },
	} {
		if err := c(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func closeIf(open bool, close func() error) error {
	if !open {
		return nil
	}
	return close()
}

// fail makes Run stop the node at once and return err. The first error counts.
func (n *Node) fail(err error) {
	n.failOnce.Do(func() {
		n.failure = err
		n.log.Error("the node stops", "error", err)
		close(n.failed)
	})
}

// halt is fail for goroutines of Raft that must not go on: what they believe to
// be on disk is not. It does not return.
func (n *Node) halt(err error) {
	n.fail(err)
	runtime.Goexit()
}

// Limits returns the limits that this node enforces.
func (n *Node) Limits() turn.Limits { return n.cfg.Limits }

// Watch returns a channel that gets a token after changes of a session on this
// node; tokens that are not taken merge into one. stop ends it.
func (n *Node) Watch(k turn.Key) (changed <-chan struct{}, stop func()) { return n.state.Watch(k) }

// Submit starts an operation and returns at once. Operations submitted one after
// the other take place in that order, if they take place.
func (n *Node) Submit(ctx context.Context, op turn.Op) *Call {
	if err := op.Validate(n.cfg.Limits); err != nil {
		return n.calls.failed(turn.AsError(err))
	}
	b, err := codec.EncodeOp(op)
	if err != nil {
		return n.calls.failed(turn.AsError(err))
	}
	if err := ctx.Err(); err != nil {
		return n.calls.failed(unavailable("the context ended before the operation began: %v", err))
	}
	return n.calls.submit(ctx, b)
}

// Apply performs an operation: see Submit and Call.Wait.
func (n *Node) Apply(ctx context.Context, op turn.Op) (turn.Result, error) {
	return n.Submit(ctx, op).Wait()
}

// applied is told of each entry that the state machine applied.
func (n *Node) applied(index, _ uint64, outs []fsm.Outcome) {
	if len(outs) > 0 {
		n.calls.applied(outs)
	}
}

// jumped is told that a snapshot replaced the state. What became of calls in the
// entries that it covers is learned by sending them again.
func (n *Node) jumped() {
	n.stats.installed.Add(1)
	index, _ := n.state.Applied()
	n.log.Info("snapshot installed", "index", index)
	poke(n.forward.wake)
	n.lead.announce()
}

// serve answers requests of other nodes.
func (n *Node) serve(ctx context.Context, r peer.Request) ([]byte, error) {
	switch r.Kind {
	case kindQuery:
		return n.answerQuery(ctx, r.Payload)
	case kindIndex:
		return n.answerIndex(ctx)
	case kindStatus:
		return n.answerStatus()
	case kindMembers:
		return n.answerMembers(ctx, r.Payload)
	}
	return nil, fmt.Errorf("unknown request kind %d", r.Kind)
}

// ordered answers those requests of other nodes whose order counts, or which are
// answered without waiting for anything.
func (n *Node) ordered(r peer.Request, reply func([]byte, error)) {
	switch r.Kind {
	case kindForward:
		n.inbox.take(r, reply)
	case kindConfirm:
		reply(answerConfirm(r.Payload, n.stable.Promised))
	default:
		reply(nil, fmt.Errorf("unknown request kind %d", r.Kind))
	}
}

func (n *Node) raftState() (leader bool, term, commit uint64) {
	r := n.raft.Load()
	if r == nil {
		return false, 0, 0
	}
	// In this order: a commit index that is read while leading in term is one
	// of that term, since neither goes back.
	leader, term = r.State() == raft.Leader, r.CurrentTerm()
	return leader, term, r.CommitIndex()
}

// configuration returns the latest configuration, committed or not.
func (n *Node) configuration() raft.Configuration {
	r := n.raft.Load()
	if r == nil {
		return raft.Configuration{}
	}
	return r.GetConfiguration().Configuration()
}

func (n *Node) voters() (others []string, self bool) { return votersOf(n.configuration(), n.id) }

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

// propose has the leader, which this node must be, perform an operation of its own.
func (n *Node) propose(ctx context.Context, r *reign, op turn.Op) (turn.Result, error) {
	u, wait, err := n.ownUnit(op)
	if err != nil {
		return turn.Result{}, err
	}
	if _, f := n.props.offer(u, r); f != nil {
		return turn.Result{}, f.err
	}
	return wait(ctx)
}

// ownUnit makes a unit of an operation of the leader's own, and a function that
// waits for its outcome.
func (n *Node) ownUnit(op turn.Op) (*unit, func(context.Context) (turn.Result, error), error) {
	b, err := codec.EncodeOp(op)
	if err != nil {
		return nil, nil, err
	}
	type outcome struct {
		r   turn.Result
		err error
	}
	got := make(chan outcome, 1)
	u := &unit{
		commands: []codec.Command{{Origin: n.system.origin, Number: n.system.last.Add(1), Op: b}},
		bytes:    len(b), internal: true,
		done: func(outs []fsm.Outcome, f *failure) {
			switch {
			case f != nil:
				got <- outcome{err: f.err}
			case outs[0].Err != nil:
				got <- outcome{err: outs[0].Err}
			default:
				got <- outcome{r: outs[0].Result}
			}
		},
	}
	return u, func(ctx context.Context) (turn.Result, error) {
		select {
		case o := <-got:
			return o.r, o.err
		case <-ctx.Done():
			return turn.Result{}, ctx.Err()
		}
	}, nil
}

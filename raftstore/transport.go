package raftstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/ballot"
	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/raftlogger"
	"github.com/turnlog/turnlog/internal/rollback"
)

// keptConns is how many connections to each node are kept for the next messages.
const keptConns = 4

// transport is raft.NetworkTransport over package peer, with corrections to
// what a leader sends, and what it is told, and to elections.
type transport struct {
	*raft.NetworkTransport
	maxBytes int
	leads    func() bool // as far as Raft's main loop has got
	// durable waits until this node's log is durable up to an index: see raftlog.Store.AwaitDurable.
	durable func(index uint64) error
	waiter  *peerWaiter
	ballot  *ballot.Ballot
	seen    *rollback.Observations
	rpcs    chan raft.RPC // those that Raft may take, see ballot
}

// newTransport returns the transport of a node, whose files are open.
func newTransport(n *Node) *transport {
	cfg := &n.cfg
	return &transport{
		NetworkTransport: raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
			Logger: raftlogger.New(cfg.Logger),
			Stream: streamLayer{n.net.Streams()},
			// No pipeline: with one, a follower can be left behind for good
			// (hashicorp/raft issue 611), and it adds latency under load.
			MaxRPCsInFlight: 1,
			MaxPool:         keptConns,
			Timeout:         cfg.Consensus.RPC,
		}),
		maxBytes: cfg.Consensus.MaxBytes,
		leads:    n.raft.Leads,
		durable:  n.data.Log.AwaitDurable,
		waiter:   n.waiter,
		ballot:   n.ballot,
		seen:     n.seen,
		rpcs:     make(chan raft.RPC),
	}
}

// AppendEntries implements raft.Transport.
//
// It sends nothing once the node leads no more. Raft goes on sending, heartbeats above
// all, until its main loop has got from the old term to the new one. That takes as
// long as the disk does: while it hangs, the others would follow no leader.
//
// It cuts the entries to a number of bytes, since Raft bounds only their count.
// Raft reads args.Entries again to see how far it got.
//
// And it lowers the commit index to the last entry of the message. A follower
// takes the lower of the commit index and the end of its own log, where the
// Raft paper has the last new entry. A message that ends below a stale suffix of
// the follower's log but names a higher commit index, as one built while the
// cluster was committing, would make it apply that suffix.
//
// It sends nothing in place of an entry that the log dropped while Raft read those of the message:
// see raftlog.StandIn. Raft finds it gone at the next attempt, and sends a snapshot.
//
// It waits for a node that cannot be reached, see peerWaiter, unless the message is a
// heartbeat: those fail at once, and Raft sends them often enough.
//
// And it returns when this node's own log is durable as far as the message goes:
// what the other acknowledges is then on two disks.
//
// An acknowledgement that comes, or gets durable here, after the other was started again does not count.
func (t *transport) AppendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse) error {
	if !t.leads() {
		return errNotLeading
	}
	if slices.ContainsFunc(args.Entries, func(e *raft.Log) bool { return e.Type == raftlog.StandIn }) {
		return errDropped
	}
	t.trim(args)
	if last := args.PrevLogEntry + uint64(len(args.Entries)); args.LeaderCommitIndex > last {
		args.LeaderCommitIndex = last
	}
	if args.PrevLogEntry > 0 || len(args.Entries) > 0 {
		if err := t.waiter.await(string(id)); err != nil {
			return err
		}
	}
	start := t.seen.Start(string(id))
	if err := t.NetworkTransport.AppendEntries(id, target, args, resp); err != nil || len(args.Entries) == 0 {
		return err
	}
	last := args.Entries[len(args.Entries)-1]
	if resp.Success && !t.seen.Acked(string(id), start, raftlog.Position{Index: last.Index, Term: last.Term}) {
		return errRestarted
	}
	if err := t.durable(last.Index); err != nil {
		return err
	}
	if resp.Success && t.seen.Start(string(id)) != start { // that may have taken long
		return errRestarted
	}
	return nil
}

// Consumer implements raft.Transport.
func (t *transport) Consumer() <-chan raft.RPC { return t.rpcs }

// run hands Raft the messages of other nodes until ctx ends.
func (t *transport) run(ctx context.Context, log *slog.Logger) {
	t.ballot.Pass(ctx, t.NetworkTransport.Consumer(), func(rpc raft.RPC) { t.hand(ctx, rpc) }, log)
}

// hand gives Raft a message, unless ctx ends before it takes it.
//
// A leader is not told to stand for election: Raft would, and so end its term. The message is one of an earlier
// leader, whose main loop hangs and does not know yet that there is another one.
func (t *transport) hand(ctx context.Context, rpc raft.RPC) {
	if _, stand := rpc.Command.(*raft.TimeoutNowRequest); stand && t.leads() {
		rpc.Respond(nil, errLeads)
		return
	}
	select {
	case t.rpcs <- rpc:
	case <-ctx.Done():
	}
}

var errDropped = errors.New("the log dropped an entry while it was read to be sent")

// errRestarted has Raft send the entries again.
var errRestarted = errors.New("the node was restarted while it was sent entries: whether it has them is unknown")

var errLeads = errors.New("this node leads already")

var errNotLeading = errors.New("this node is no longer the leader")

// SetHeartbeatHandler implements raft.Transport. It keeps nothing, so that Raft's main
// loop handles heartbeats as it does all other messages.
//
// The handler that Raft offers here changes its term and its role on a goroutine of the
// transport, beside the main loop (hashicorp/raft issue 695). A candidate of term 3 that
// hears a heartbeat of term 4 is then in term 4 while the main loop still counts votes
// of term 3, and with them it leads in term 4, which has a leader. A leader of term 3
// writes entries into its log as of term 4.
//
// While the main loop is busy, with a disk that hangs or a snapshot that arrives, a
// heartbeat waits for it: see docs/decisions/0001-heartbeats-in-the-main-loop.md.
func (t *transport) SetHeartbeatHandler(func(raft.RPC)) {}

// RequestVote implements raft.Transport. A node that may not stand for election asks no other node.
func (t *transport) RequestVote(id raft.ServerID, target raft.ServerAddress, args *raft.RequestVoteRequest,
	resp *raft.RequestVoteResponse) error {
	if err := errors.Join(t.ballot.Stands(), t.ballot.Elects(args.Term)); err != nil {
		return err
	}
	err := retryBroken(func() error { return t.NetworkTransport.RequestVote(id, target, args, resp) })
	if err == nil && resp.Granted {
		t.seen.Voted(string(id), args.Term)
	}
	return err
}

// RequestPreVote implements raft.WithPreVote.
func (t *transport) RequestPreVote(id raft.ServerID, target raft.ServerAddress, args *raft.RequestPreVoteRequest,
	resp *raft.RequestPreVoteResponse) error {
	if err := t.ballot.Stands(); err != nil {
		return err
	}
	return retryBroken(func() error { return t.NetworkTransport.RequestPreVote(id, target, args, resp) })
}

// TimeoutNow implements raft.Transport.
func (t *transport) TimeoutNow(id raft.ServerID, target raft.ServerAddress, args *raft.TimeoutNowRequest,
	resp *raft.TimeoutNowResponse) error {
	return retryBroken(func() error { return t.NetworkTransport.TimeoutNow(id, target, args, resp) })
}

// stand has this node's Raft stand for election at once, if it may. Its port has no part in that: it
// may be closed.
func (t *transport) stand(ctx context.Context) error {
	if err := t.ballot.Stands(); err != nil {
		return err
	}
	answer := make(chan raft.RPCResponse, 1)
	request := &raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}}
	select {
	case t.rpcs <- raft.RPC{Command: request, RespChan: answer}:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case a := <-answer:
		return a.Error
	case <-ctx.Done():
		return ctx.Err()
	}
}

// retryBroken sends a message, which may be taken twice, again if its connection turns
// out to be broken. Kept connections of a node that leads no more are not used for a
// while, and their end is not noticed. The other may have been restarted since, and
// Raft would lose an election for each of them.
func retryBroken(send func() error) error {
	for range keptConns {
		err := send()
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, syscall.ECONNRESET) &&
			!errors.Is(err, syscall.EPIPE) {
			return err
		}
	}
	return send()
}

// Close ends what waits, and the connections.
func (t *transport) Close() error {
	t.waiter.close()
	return t.NetworkTransport.Close()
}

// AppendEntriesPipeline implements raft.Transport: Raft is to do without, since
// what it is told by way of a pipeline would not be held back.
func (t *transport) AppendEntriesPipeline(raft.ServerID, raft.ServerAddress) (raft.AppendPipeline, error) {
	return nil, raft.ErrPipelineReplicationNotSupported
}

func (t *transport) trim(args *raft.AppendEntriesRequest) {
	bytes := 0
	for i, e := range args.Entries {
		if bytes += len(e.Data); bytes > t.maxBytes && i > 0 {
			args.Entries = args.Entries[:i]
			return
		}
	}
}

// streamLayer adapts peer.Streams to Raft's type of address.
type streamLayer struct{ *peer.Streams }

func (s streamLayer) Dial(addr raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	return s.Streams.Dial(string(addr), timeout)
}

// peerWaiter has replication wait for a node that there is no connection to.
//
// When a message fails, Raft tries again after a pause, each twice as long as the
// one before, up to ten seconds, and takes no notice of the node's return
// meanwhile. A message that waits for the connection does not fail, and goes out
// as soon as it is made.
type peerWaiter struct {
	// worth reports whether there is still reason to wait for a node.
	worth     func(id string) bool
	connected func(id string) bool

	mu      sync.Mutex
	changed chan struct{} // closed when something may have changed
	closed  bool
}

func newPeerWaiter(worth, connected func(id string) bool) *peerWaiter {
	return &peerWaiter{worth: worth, connected: connected, changed: make(chan struct{})}
}

// await waits until a node is connected. It fails when there is no more reason to.
func (r *peerWaiter) await(id string) error {
	for {
		r.mu.Lock()
		changed, closed := r.changed, r.closed
		r.mu.Unlock()
		switch {
		case r.connected(id):
			return nil
		case closed || !r.worth(id):
			return fmt.Errorf("node %s is not connected", id)
		}
		<-changed
	}
}

// look has everybody who waits look again.
func (r *peerWaiter) look() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.changed)
	r.changed = make(chan struct{})
}

// close ends all waiting.
func (r *peerWaiter) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.look()
}

package propose

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/signal"
	"github.com/turnlog/turnlog/turn"
)

// Peers are the other nodes, as far as they take batches.
type Peers interface {
	// Leader returns the id of the node that leads if that is another one, else an empty
	// string, in which term, as far as this node knows, and a channel that is closed when the leader may have changed.
	Leader() (id string, term uint64, changed <-chan struct{})
	// Forward sends a batch to a node, behind those that were sent to it before, and does not
	// block. answered is called once: with the outcomes, or with why there are none. A failure
	// is definite only if the node surely did not, and will not, propose the batch.
	Forward(to string, b Forwarded, answered func([]fsm.Outcome, *Failure))
}

// Forwarded is a batch on its way from one node's Forwarder to another's Inbox.
type Forwarded struct {
	Origin, Session uint64 // of the sender's calls; rises with each session
	Place           uint64 // of the batch in its session, from 0
	Commands        []codec.Command
	Traces          []Announced // of those that are traced; a receiver that knows of traces hears of them beforehand
}

// Forwarder sends this node's calls to the leader as long as that is another
// node: batch by batch, a few at a time, in sessions.
//
// Within a session every batch has its place, and the leader takes them in that
// order only. The first batch that does not succeed ends the session, and the
// leader refuses those behind it; a new session begins with the first unresolved
// call. So calls never overtake each other, however they are refused or lost.
type Forwarder struct {
	bounds Bounds
	calls  *Calls
	peers  Peers
	space  Space
	wake   signal.Channel // calls wait, or a batch was answered

	session atomic.Uint64
	batches atomic.Uint64
	sent    atomic.Uint64 // calls
	resets  atomic.Uint64 // sessions that ended by a failure
}

// ForwardStats counts what a Forwarder sent, and the sessions that ended by a failure.
type ForwardStats struct {
	Calls, Batches, Resets uint64
}

// NewForwarder returns a Forwarder, which does nothing until Run runs.
func NewForwarder(bounds Bounds, calls *Calls, peers Peers, space Space) *Forwarder {
	return &Forwarder{bounds: bounds, calls: calls, peers: peers, space: space, wake: signal.New()}
}

// Stats returns what was counted so far.
func (f *Forwarder) Stats() ForwardStats {
	return ForwardStats{Calls: f.sent.Load(), Batches: f.batches.Load(), Resets: f.resets.Load()}
}

// Wake has the Forwarder look whether there is something to send.
func (f *Forwarder) Wake() { f.wake.Notify() }

// outSession is a session as its sender sees it.
type outSession struct {
	*Forwarder
	id     uint64
	leader string
	gen    uint64
	place  uint64

	mu     sync.Mutex
	flight int
	broken bool
}

// Run forwards until ctx ends.
func (f *Forwarder) Run(ctx context.Context) {
	for ctx.Err() == nil {
		leader, term, changed := f.peers.Leader()
		if leader == "" {
			select {
			case <-ctx.Done():
			case <-changed:
			}
			continue
		}
		s := &outSession{Forwarder: f, id: f.session.Add(1), leader: leader, gen: f.calls.rewind(term)}
		s.run(ctx, changed)
		if !s.ended() {
			continue
		}
		f.resets.Add(1)
		select { // the leader may be on its way out, or not yet in
		case <-ctx.Done():
		case <-changed:
		case <-time.After(15 * time.Millisecond):
		}
	}
}

// run sends until the session breaks or the leader changes.
func (s *outSession) run(ctx context.Context, changed <-chan struct{}) {
	defer s.calls.leaderless(s.gen)
	for {
		for s.more() {
			b := s.calls.take(s.gen, s.bounds.EntryCommands, s.bounds.EntryBytes, fsm.EntryWeight)
			if b == nil {
				break
			}
			s.send(b)
		}
		if s.ended() {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
			return
		case <-s.wake:
		}
	}
}

func (s *outSession) more() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.broken && s.flight < s.bounds.ForwardDepth
}

func (s *outSession) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
}

func (s *outSession) send(b *callBatch) {
	out := Forwarded{Origin: s.calls.origin, Session: s.id, Place: s.place, Commands: b.commands,
		Traces: s.calls.tracing.forwarded(b.commands, s.leader)}
	s.place++
	s.batches.Add(1)
	s.sent.Add(uint64(len(b.calls)))
	s.mu.Lock()
	s.flight++
	s.mu.Unlock()
	s.peers.Forward(s.leader, out, func(outs []fsm.Outcome, f *Failure) {
		s.answered(b, outs, f)
		s.mu.Lock()
		s.flight--
		s.broken = s.broken || f != nil
		s.mu.Unlock()
		s.wake.Notify()
	})
}

// answered settles a batch.
func (s *outSession) answered(b *callBatch, outs []fsm.Outcome, f *Failure) {
	switch {
	case f == nil:
		s.calls.answered(b, outs)
	case !f.Definite:
		s.calls.lost(b)
	case f.Err.Kind == turn.ReadOnly:
		// What frees space may have been rejected for its neighbours in the batch.
		s.space.Hear(f.Err)
		if rejected := split(b, s.space.Refusal(), s.space); rejected != nil {
			s.calls.refused(rejected, f.Err, true)
		}
		s.calls.refused(b, f.Err, false)
	default:
		s.calls.refused(b, f.Err, f.Err.Kind == turn.Overloaded)
	}
}

package raftstore

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/turn"
)

// forwarder sends this node's calls to the leader as long as that is another
// node: batch by batch, a few at a time, in sessions.
//
// Within a session every batch has its place, and the leader takes them in that
// order only. The first batch that does not succeed ends the session, and the
// leader refuses those behind it; a new session begins with the first unresolved
// call. So calls never overtake each other, however they are refused or lost.
type forwarder struct {
	bounds CallBounds
	calls  *calls
	net    *peer.Network
	lead   *leadership
	space  *diskSpace
	wake   chan struct{} // cap 1: calls wait, or a batch was answered

	session atomic.Uint64
	batches atomic.Uint64
	sent    atomic.Uint64 // calls
	resets  atomic.Uint64 // sessions that ended by a failure
}

// outSession is a session as its sender sees it.
type outSession struct {
	*forwarder
	id     uint64
	leader string
	gen    uint64
	place  uint64

	mu     sync.Mutex
	flight int
	broken bool
}

// run forwards until ctx ends.
func (f *forwarder) run(ctx context.Context) {
	for ctx.Err() == nil {
		leader, changed := f.lead.leader()
		if leader == "" || leader == f.lead.self {
			select {
			case <-ctx.Done():
			case <-changed:
			}
			continue
		}
		s := &outSession{forwarder: f, id: f.session.Add(1), leader: leader, gen: f.calls.rewind()}
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

func (s *outSession) send(b *batch) {
	payload := appendForwarded(forwarded{s.calls.origin, s.id, s.place, b.commands})
	s.place++
	s.batches.Add(1)
	s.sent.Add(uint64(len(b.calls)))
	s.mu.Lock()
	s.flight++
	s.mu.Unlock()
	s.net.Send(s.leader, kindForward, payload, func(answer []byte, err error) {
		ok := s.answered(b, answer, err)
		s.mu.Lock()
		s.flight--
		s.broken = s.broken || !ok
		s.mu.Unlock()
		poke(s.wake)
	})
}

// answered settles a batch and reports whether the session may go on.
func (s *outSession) answered(b *batch, answer []byte, err error) bool {
	switch {
	case errors.Is(err, peer.ErrNotSent), errors.Is(err, peer.ErrOverloaded):
		s.calls.refused(b, unavailable("cannot reach the leader: %v", err), false)
		return false
	case err != nil:
		s.calls.lost(b)
		return false
	}
	content, f, err := open(answer)
	if err == nil && f == nil {
		var outs []fsm.Outcome
		if outs, err = parseOutcomes(content); err == nil {
			s.calls.answered(outs)
			return true
		}
	}
	switch {
	case err != nil || !f.definite:
		s.calls.lost(b)
	case f.err.Kind == turn.ReadOnly:
		// What frees space may have been rejected for its neighbours in the batch.
		s.space.hear(f.err)
		if rejected, why := s.space.split(b); why != nil {
			s.calls.refused(rejected, why, true)
		}
		s.calls.refused(b, f.err, false)
	default:
		s.calls.refused(b, f.err, f.err.Kind == turn.Overloaded)
	}
	return false
}

// inbox is the leader's end of all forwarding sessions.
type inbox struct {
	proposer *proposer
	vet      func([]codec.Command) (vetted, *failure)

	mu       sync.Mutex
	sessions map[string]*inSession // by node id
}

type inSession struct {
	origin, id uint64
	next       uint64      // place of the batch that is due
	term       *leaderTerm // in which the first batch was taken; nil before it
}

// take queues a forwarded batch for the proposer. It does not block.
func (in *inbox) take(r peer.Request, reply func([]byte, error)) {
	f, err := parseForwarded(r.Payload)
	if err != nil {
		reply(nil, err)
		return
	}
	if !in.due(r.From.NodeID, f) {
		reply(badly(outOfTurn()), nil)
		return
	}
	v, refused := in.vet(f.commands)
	in.mu.Lock()
	defer in.mu.Unlock()
	s := in.sessionLocked(r.From.NodeID, f)
	if s == nil {
		reply(badly(outOfTurn()), nil)
		return
	}
	if refused != nil {
		reply(badly(refused), nil)
		return
	}
	if len(v.fit) == 0 {
		s.next++
		reply(appendOutcomes([]byte{answerOK}, v.refused), nil)
		return
	}
	lt, refused := in.proposer.offer(&unit{
		commands: v.fit,
		bytes:    len(r.Payload),
		weight:   v.weight,
		done: func(outs []fsm.Outcome, f *failure) {
			if f != nil {
				reply(badly(f), nil)
				return
			}
			reply(appendOutcomes(appendOutcomes([]byte{answerOK}, outs), v.refused), nil)
		},
	}, s.term)
	if refused != nil {
		reply(badly(refused), nil)
		return
	}
	s.next++
	s.term = lt
}

func outOfTurn() *failure {
	return &failure{true, unavailable("an earlier batch of this session was refused")}
}

// due reports whether it is a batch's turn. One that is out of turn need not be decoded.
func (in *inbox) due(node string, f forwarded) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.sessionLocked(node, f) != nil
}

// sessionLocked returns the batch's session if it is that batch's turn.
func (in *inbox) sessionLocked(node string, f forwarded) *inSession {
	s := in.sessions[node]
	if s == nil || s.origin != f.origin || s.id < f.session {
		if f.place != 0 {
			return nil
		}
		s = &inSession{origin: f.origin, id: f.session}
		in.sessions[node] = s
	}
	if s.id != f.session || s.next != f.place {
		return nil
	}
	return s
}

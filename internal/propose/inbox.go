package propose

import (
	"sync"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// Inbox is the leader's end of all forwarding sessions.
type Inbox struct {
	proposer *Proposer
	vet      func([]codec.Command) (Vetted, *Failure)

	mu       sync.Mutex
	sessions map[string]*inSession // by node id
}

type inSession struct {
	origin, id uint64
	next       uint64 // place of the batch that is due
	term       *Term  // in which the first batch was taken; nil before it
}

// Vetted are the commands of another node that may be proposed, and outcomes for those
// that may not and never will.
type Vetted struct {
	Fit     []codec.Command
	Weight  int // of Fit: see fsm.Weight
	Refused []fsm.Outcome
}

// NewInbox returns an Inbox. vet looks at commands before they are proposed; a failure refuses
// all of them.
func NewInbox(p *Proposer, vet func([]codec.Command) (Vetted, *Failure)) *Inbox {
	return &Inbox{proposer: p, vet: vet, sessions: make(map[string]*inSession)}
}

// Take queues a batch of a node for the Proposer; size is that of its message. It does not block,
// and neither must answer, which is called once, by any goroutine.
func (in *Inbox) Take(node string, f Forwarded, size int, answer func([]fsm.Outcome, *Failure)) {
	if in.proposer != nil {
		answer = in.proposer.calls.tracing.traces(f, answer)
	}
	if !in.due(node, f) {
		answer(nil, outOfTurn())
		return
	}
	v, refused := in.vet(f.Commands)
	in.mu.Lock()
	defer in.mu.Unlock()
	s := in.sessionLocked(node, f)
	if s == nil {
		answer(nil, outOfTurn())
		return
	}
	if refused != nil {
		answer(nil, refused)
		return
	}
	if len(v.Fit) == 0 {
		s.next++
		answer(unproposed(v.Refused), nil)
		return
	}
	t, refused := in.proposer.Offer(&Batch{
		Commands: v.Fit,
		Bytes:    size,
		Weight:   v.Weight,
		Done: func(outs []fsm.Outcome, f *Failure) {
			if f != nil {
				answer(nil, f)
				return
			}
			answer(append(outs, unproposed(v.Refused)...), nil)
		},
	}, s.term)
	if refused != nil {
		answer(nil, refused)
		return
	}
	s.next++
	s.term = t
}

// unproposed returns outcomes of commands that were refused without being proposed, as they are sent to the node that
// they came from: before each is one of origin 0, skipped, with its number. Nodes of older versions pass that over.
func unproposed(refused []fsm.Outcome) (outs []fsm.Outcome) {
	for _, o := range refused {
		outs = append(outs, fsm.Outcome{Number: o.Number, Skipped: true}, o)
	}
	return outs
}

func outOfTurn() *Failure {
	return &Failure{true, turn.Errorf(turn.Unavailable, "an earlier batch of this session was rejected")}
}

// due reports whether it is a batch's turn. One that is out of turn need not be decoded.
func (in *Inbox) due(node string, f Forwarded) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.sessionLocked(node, f) != nil
}

// sessionLocked returns the batch's session if it is that batch's turn.
func (in *Inbox) sessionLocked(node string, f Forwarded) *inSession {
	s := in.sessions[node]
	if s == nil || s.origin != f.Origin || s.id < f.Session {
		if f.Place != 0 {
			return nil
		}
		s = &inSession{origin: f.Origin, id: f.Session}
		in.sessions[node] = s
	}
	if s.id != f.Session || s.next != f.Place {
		return nil
	}
	return s
}

package propose

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/signal"
	"github.com/turnlog/turnlog/turn"
)

// Proposer packs the commands that wait on the leader into log entries.
//
// It works only during a leader term, from Begin to End. Two sources feed it: the node's own
// table of calls, and batches, which come from other nodes or from the leader itself. What waits
// is proposed at once when no entry is in flight; while one is, more gathers (Bounds.Depth,
// Overlap).
//
// The first entry that fails ends the leader term, and everything that waits is refused: a later
// command must not overtake an earlier one that has to be sent again. For the same reason an
// entry is proposed only when the one before it has its place in the log (Placed).
//
// All methods may be called by any goroutine.
type Proposer struct {
	bounds Bounds
	calls  *Calls
	space  Space
	wake   signal.Channel

	origin uint64        // in the tags of the operations that the leader proposes by itself
	last   atomic.Uint64 // number of the last one

	mu      sync.Mutex
	term    *Term // nil: not leading
	batches []*Batch
	bytes   int  // of batches
	passed  bool // the last entry had no room for calls of this node: they come first
	flight  int  // entries
	flying  int  // bytes of the operations in them
	// entering is the entry of them that is not in the log yet; nil: all are.
	entering *entryBatch
	held     int // by Hold

	proposed struct{ entries, commands, bytes atomic.Uint64 }
}

// ProposerStats counts the entries that were proposed, and the commands and bytes in them.
type ProposerStats struct {
	Entries, Commands, Bytes uint64
}

// NewProposer returns a Proposer, which does nothing until Run runs. origin is in the tags of the
// operations that the leader proposes by itself: no other process, and no table, may have it.
func NewProposer(bounds Bounds, calls *Calls, space Space, origin uint64) *Proposer {
	return &Proposer{bounds: bounds, calls: calls, space: space, origin: origin, wake: signal.New()}
}

// Stats returns what was counted so far.
func (p *Proposer) Stats() ProposerStats {
	return ProposerStats{Entries: p.proposed.entries.Load(), Commands: p.proposed.commands.Load(),
		Bytes: p.proposed.bytes.Load()}
}

// Wake has the Proposer look whether there is something to propose.
func (p *Proposer) Wake() { p.wake.Notify() }

// Begin starts to propose in a leader term, with its first batch.
func (p *Proposer) Begin(t *Term, first *Batch) {
	t.gen = p.calls.rewind(t.Number)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.term = t
	p.batches = append(p.batches, first)
	p.bytes += first.Bytes
	p.wake.Notify()
}

// End ends a leader term, if it is the present one, and refuses what waits.
func (p *Proposer) End(t *Term) {
	p.mu.Lock()
	if t == nil || p.term != t {
		p.mu.Unlock()
		return
	}
	p.term = nil
	close(t.over)
	refused := p.batches
	p.batches, p.bytes = nil, 0
	p.mu.Unlock()
	p.calls.leaderless(t.gen)
	for _, b := range refused {
		b.Done(nil, NotLeader())
	}
}

// Current returns the leader term; nil: this node does not lead.
func (p *Proposer) Current() *Term {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.term
}

// Offer queues a batch in the given leader term, or in the present one if t is nil, and
// returns which that is. If it returns a failure, which is always a definite one,
// Batch.Done will not be called.
func (p *Proposer) Offer(b *Batch, t *Term) (*Term, *Failure) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !b.internal {
		// Not when it is taken: those that were offered behind it would overtake it.
		if why := rejectsAny(p.space, b.Commands, p.flying+p.bytes+b.Bytes); why != nil {
			return nil, &Failure{true, why}
		}
	}
	if p.term == nil || t != nil && t != p.term {
		return nil, NotLeader()
	}
	if p.bytes > 0 && p.bytes+b.Bytes > p.bounds.MaxBytes {
		return nil, &Failure{true, turn.Errorf(turn.Overloaded, "%d bytes of operations wait on the leader", p.bytes)}
	}
	p.batches = append(p.batches, b)
	p.bytes += b.Bytes
	p.wake.Notify()
	return p.term, nil
}

// Run proposes until ctx ends.
func (p *Proposer) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		}
		// Callers that were just answered are about to ask again: they go first,
		// if they are ready to run now. Nothing is waited for.
		runtime.Gosched()
		for p.step() {
		}
	}
}

// step proposes one entry; false: there is nothing to do until the next wake.
func (p *Proposer) step() bool {
	p.mu.Lock()
	t := p.term
	if t == nil || p.held > 0 || p.entering != nil || p.flight >= p.bounds.Depth || p.flight > 0 &&
		p.waitingLocked() < p.bounds.Overlap {
		p.mu.Unlock()
		return false
	}
	out := p.gatherLocked(t)
	if out != nil {
		p.flight++
		p.flying += out.bytes
		p.entering = out
	}
	p.mu.Unlock()
	if out == nil {
		return false
	}
	p.propose(t, out)
	return true
}

// waitingLocked counts the commands that wait.
func (p *Proposer) waitingLocked() int {
	n := p.calls.pending()
	for _, b := range p.batches {
		n += len(b.Commands)
	}
	return n
}

func (p *Proposer) propose(t *Term, out *entryBatch) {
	if !t.Holds() {
		p.settle(t, out, nil, NotLeader())
		return
	}
	size := 16 + len(out.commands)*24 + out.bytes
	entry := codec.AppendEntry(make([]byte, 0, size), t.now(), out.commands)
	p.proposed.entries.Add(1)
	p.proposed.commands.Add(uint64(len(out.commands)))
	p.proposed.bytes.Add(uint64(len(entry)))
	p.calls.tracing.proposed(out.commands)
	outcome := t.log.Propose(t.Number, entry)
	go func() { // ends when the log tells the outcome, or is lost with it at a shutdown
		outs, f := outcome()
		if f == nil && len(outs) != len(out.commands) {
			f = &Failure{false, turn.Errorf(turn.Unknown, "the node stopped while the operation was applied")}
		}
		p.settle(t, out, outs, f)
	}()
}

// settle tells all callers of an entry what became of it.
func (p *Proposer) settle(t *Term, out *entryBatch, outs []fsm.Outcome, f *Failure) {
	if f != nil {
		p.End(t)
	}
	for _, b := range out.batches {
		if f != nil {
			b.Done(nil, f)
			continue
		}
		b.Done(outs[:len(b.Commands):len(b.Commands)], nil)
		outs = outs[len(b.Commands):]
	}
	if out.local != nil {
		switch {
		case f == nil: // the state machine has told the table already
		case f.Definite:
			p.calls.refused(out.local, f.Err, false)
		default:
			p.calls.lost(out.local)
		}
	}
	p.mu.Lock()
	p.flight--
	p.flying -= out.bytes
	if p.entering == out {
		p.entering = nil // it is not in the log, and the term is over
	}
	p.mu.Unlock()
	p.wake.Notify()
}

// Placed notes that the entry on its way into the log has its place there.
func (p *Proposer) Placed() {
	p.mu.Lock()
	p.entering = nil
	p.mu.Unlock()
	p.wake.Notify()
}

// Hold stops proposing until release is called, and waits, as long as ctx, until
// no entry is in flight.
func (p *Proposer) Hold(ctx context.Context) (release func(), err error) {
	p.mu.Lock()
	p.held++
	p.mu.Unlock()
	release = func() {
		p.mu.Lock()
		p.held--
		p.mu.Unlock()
		p.wake.Notify()
	}
	for {
		p.mu.Lock()
		flight := p.flight
		p.mu.Unlock()
		if flight == 0 {
			return release, nil
		}
		select {
		case <-ctx.Done():
			release()
			return nil, ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

// Idle reports whether no batch waits and no entry is in flight.
func (p *Proposer) Idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.flight == 0 && len(p.batches) == 0
}

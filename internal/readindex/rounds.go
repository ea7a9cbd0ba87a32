package readindex

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/turnlog/turnlog/internal/signal"
)

// rounds lets all reads that want a read index share one: a round serves those that asked
// before it began.
type rounds struct {
	wake signal.Channel

	mu   sync.Mutex
	next *round // of those that have asked since the last one began; nil: none has
	over bool   // no more rounds are held

	held, served atomic.Uint64
}

// round is one that is to come or in flight.
type round struct {
	asked int           // how many wait; under the mutex
	done  chan struct{} // closed when the answer is there
	answer
}

// answer is what a round ended with.
type answer struct {
	index uint64
	ok    bool // else the node does not lead, as far as a majority knows
}

// Stats counts rounds.
type Stats struct {
	Rounds  uint64 // begun
	Reads   uint64 // that those serve or have served
	Waiting int    // reads that wait for the next one
}

func newRounds() rounds { return rounds{wake: signal.New()} }

// Stats returns what was counted so far.
func (r *rounds) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Stats{Rounds: r.held.Load(), Reads: r.served.Load()}
	if r.next != nil {
		s.Waiting = r.next.asked
	}
	return s
}

// Index returns a read index; false: none is available now.
func (r *rounds) Index(ctx context.Context) (uint64, bool) {
	r.mu.Lock()
	if r.over {
		r.mu.Unlock()
		return 0, false
	}
	mine := r.next
	if mine == nil {
		mine = &round{done: make(chan struct{})}
		r.next = mine
	}
	mine.asked++
	r.mu.Unlock()
	r.wake.Notify()
	select {
	case <-mine.done:
		return mine.index, mine.ok
	case <-ctx.Done():
		return 0, false
	}
}

// run holds rounds, for as many as have asked, until ctx ends.
func (r *rounds) run(ctx context.Context, hold func(ctx context.Context, asked int) answer) {
	for {
		select {
		case <-ctx.Done():
			if last := r.take(true); last != nil {
				close(last.done)
			}
			return
		case <-r.wake:
		}
		now := r.take(false)
		if now == nil {
			continue
		}
		r.held.Add(1)
		r.served.Add(uint64(now.asked))
		now.answer = hold(ctx, now.asked)
		close(now.done)
	}
}

// take takes the next round; over: there will be none after it.
func (r *rounds) take(over bool) *round {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.next
	r.next, r.over = nil, over
	return next
}

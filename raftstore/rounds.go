package raftstore

import (
	"context"
	"sync"
	"sync/atomic"
)

// rounds lets all who want a read index share one: a round serves those who asked
// before it began.
type rounds struct {
	wake chan struct{} // cap 1

	mu      sync.Mutex
	waiting []chan<- readIndex

	held, served atomic.Uint64
}

type readIndex struct {
	index uint64
	ok    bool // else the node does not lead, as far as a majority knows
}

func newRounds() rounds { return rounds{wake: make(chan struct{}, 1)} }

// index returns a read index; false: none is to be had now.
func (r *rounds) index(ctx context.Context) (uint64, bool) {
	got := make(chan readIndex, 1)
	r.mu.Lock()
	r.waiting = append(r.waiting, got)
	r.mu.Unlock()
	poke(r.wake)
	select {
	case i := <-got:
		return i.index, i.ok
	case <-ctx.Done():
		return 0, false
	}
}

// run holds rounds until ctx ends.
func (r *rounds) run(ctx context.Context, round func(context.Context) readIndex) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		}
		r.mu.Lock()
		waiting := r.waiting
		r.waiting = nil
		r.mu.Unlock()
		if len(waiting) == 0 {
			continue
		}
		r.held.Add(1)
		r.served.Add(uint64(len(waiting)))
		i := round(ctx)
		for _, w := range waiting {
			w <- i
		}
	}
}

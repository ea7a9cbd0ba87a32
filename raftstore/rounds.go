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

	mu   sync.Mutex
	next *round // of those who have asked since the last one began; nil: nobody has
	over bool   // no more are held

	held, served atomic.Uint64
}

// round is one that is to come or under way.
type round struct {
	asked int           // how many wait; under the mutex
	done  chan struct{} // closed when the answer is there
	readIndex
}

type readIndex struct {
	index uint64
	ok    bool // else the node does not lead, as far as a majority knows
}

func newRounds() rounds { return rounds{wake: make(chan struct{}, 1)} }

// index returns a read index; false: none is to be had now.
func (r *rounds) index(ctx context.Context) (uint64, bool) {
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
	poke(r.wake)
	select {
	case <-mine.done:
		return mine.index, mine.ok
	case <-ctx.Done():
		return 0, false
	}
}

// run holds rounds, for as many as have asked, until ctx ends.
func (r *rounds) run(ctx context.Context, hold func(ctx context.Context, asked int) readIndex) {
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
		now.readIndex = hold(ctx, now.asked)
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

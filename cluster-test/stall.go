package main

import (
	"context"
	"sync"
	"time"
)

const (
	stallTick = 20 * time.Millisecond
	// tolerable is how late the harness's own ticks may be on a machine that the
	// nodes' time limits are made for.
	tolerable = 150 * time.Millisecond
)

// stall is a time in which the machine had none for the harness, and perhaps none for the nodes either.
type stall struct {
	from, to time.Duration // on the history's clock
}

// stalls are those of a run that were more than tolerable. They explain what is too slow, and elections.
type stalls struct {
	mu  sync.Mutex
	all []stall
}

// watch notes how much too late the harness's own clock ticks, until ctx ends.
func (s *stalls) watch(ctx context.Context, now func() time.Duration) {
	ticker := time.NewTicker(stallTick)
	defer ticker.Stop()
	for last := now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			s.tick(last, now())
			last = now()
		}
	}
}

// tick notes that the clock ticked at last, and next now.
func (s *stalls) tick(last, now time.Duration) {
	if now-last-stallTick > tolerable {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all = append(s.all, stall{last + stallTick, now})
	}
}

// within returns the stalls that reach into a time.
func (s *stalls) within(from, to time.Duration) (list []stall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.all {
		if x.from < to && x.to > from {
			list = append(list, x)
		}
	}
	return list
}

// worst returns the length of the longest one.
func worst(list []stall) (d time.Duration) {
	for _, x := range list {
		d = max(d, x.to-x.from)
	}
	return d
}

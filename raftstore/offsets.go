package raftstore

import (
	"context"
	"maps"
	"sync"
	"time"
)

// clockTime is how long a new leader waits for the others to tell what their clocks
// show. That can take as long as it takes to find out that one of them is down.
const clockTime = 100 * time.Millisecond

// askClocks returns the offsets of the given nodes' wall clocks to the own one, as
// they tell them now. What was learned of a clock before says little: it may have been
// wrong then, and two wrong clocks of three are a majority. Only if nobody answers
// that counts.
func (n *Node) askClocks(ctx context.Context, ids []string) []time.Duration {
	ctx, cancel := context.WithTimeout(ctx, clockTime)
	defer cancel()
	var mu sync.Mutex
	var fresh []time.Duration
	var wg sync.WaitGroup
	for _, id := range ids {
		wg.Go(func() {
			asked := n.cfg.Clock.Now()
			s, err := n.statusOf(ctx, id)
			if err != nil || s.Wall == 0 { // older nodes do not tell
				return
			}
			now := n.cfg.Clock.Now()
			by := time.UnixMilli(s.Wall).Sub(now.Round(0)) + now.Sub(asked)/2
			n.offsets.note(id, by, now)
			mu.Lock()
			defer mu.Unlock()
			fresh = append(fresh, by)
		})
	}
	wg.Wait()
	if len(fresh) == 0 {
		return n.offsets.of(ids, n.cfg.Clock.Now())
	}
	return fresh
}

// offsets remembers other nodes' wall clocks, as of the last time that they told.
type offsets struct {
	mu   sync.Mutex
	byID map[string]offset
}

// offset is a wall clock's distance from the own one, as it was at some time.
type offset struct {
	by   time.Duration
	at   time.Time // its monotonic reading counts
	wall time.Time // what the own wall clock showed then
}

// jumped returns how much more has passed since by the own wall clock than by the
// monotonic one.
func (o offset) jumped(now time.Time) time.Duration {
	return now.Round(0).Sub(o.wall) - now.Sub(o.at)
}

func (o *offsets) note(id string, d time.Duration, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byID == nil {
		o.byID = make(map[string]offset)
	}
	o.byID[id] = offset{by: d, at: now, wall: now.Round(0)}
}

// keep forgets all nodes but the given ones.
func (o *offsets) keep(ids map[string]bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.byID, func(id string, _ offset) bool { return !ids[id] })
}

// of returns the known offsets of the given nodes. What the own wall clock has
// jumped since they were noted is taken into account: otherwise a node whose clock
// jumps just before it is elected would believe that the others' had, too.
func (o *offsets) of(ids []string, now time.Time) []time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	var ds []time.Duration
	for _, id := range ids {
		if d, ok := o.byID[id]; ok {
			ds = append(ds, d.by-d.jumped(now))
		}
	}
	return ds
}

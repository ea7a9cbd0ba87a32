package raftstore

import (
	"context"
	"sync"
	"time"
)

// Clock tells the time. Now's monotonic reading is what intervals are measured
// with; its wall reading is used only when a leader's term begins.
type Clock interface {
	Now() time.Time
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

// clockTime is how long a new leader waits for the others to tell what their clocks
// show. That can take as long as it takes to find out that one of them is down.
const clockTime = 100 * time.Millisecond

// askClocks returns the offsets of the given nodes' wall clocks to the local one,
// as they tell them now. What was learned of a clock before says little: it may have been
// wrong then, and two wrong clocks of three are a majority. Only if no node
// answers that counts.
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
			n.offsets.Note(id, by, now)
			mu.Lock()
			defer mu.Unlock()
			fresh = append(fresh, by)
		})
	}
	wg.Wait()
	if len(fresh) == 0 {
		return n.offsets.Of(ids, n.cfg.Clock.Now())
	}
	return fresh
}

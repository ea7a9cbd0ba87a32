package raftstore

import (
	"slices"
	"time"
)

// Clock tells the time. Now's monotonic reading is what intervals are measured
// with; its wall reading is used only when a leader's term begins.
type Clock interface {
	Now() time.Time
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

// leaderClock gives cluster time to a leader. It reads the wall clock once, when
// the term begins, and counts on from there by the monotonic clock, so that the
// wall clock's jumps do not matter.
type leaderClock struct {
	clock  Clock
	start  time.Time
	anchor int64 // cluster time at start, Unix milliseconds
}

// newLeaderClock starts at the wall clock, or at the last cluster time if that
// is later. Offsets are those of other nodes' wall clocks to the own one.
func newLeaderClock(c Clock, last int64, offsets []time.Duration) *leaderClock {
	now := c.Now()
	wall := now.UnixMilli() + correction(offsets).Milliseconds()
	return &leaderClock{clock: c, start: now, anchor: max(wall, last)}
}

// now returns the cluster time, not less than last.
func (l *leaderClock) now(last int64) int64 {
	return max(l.anchor+l.clock.Now().Sub(l.start).Milliseconds(), last)
}

// tolerated is how far the own wall clock may be off before others correct it.
const tolerated = 2 * time.Second

// correction returns what to add to the own wall clock: nothing as long as it
// is among the others', else the difference to the middle of all, so that one
// clock that is days ahead cannot expire everything. Between two it takes the
// earlier: expiry may be late but not early.
func correction(offsets []time.Duration) time.Duration {
	all := slices.Sorted(slices.Values(append([]time.Duration{0}, offsets...)))
	middle := all[(len(all)-1)/2]
	if middle.Abs() <= tolerated {
		return 0
	}
	return middle
}

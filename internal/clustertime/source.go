package clustertime

import (
	"slices"
	"time"
)

// Clock tells the time. The monotonic reading of Now is what intervals are measured with.
// Its wall reading is used only when a leader's term begins.
type Clock interface{ Now() time.Time }

// System is the clock of the machine.
type System struct{}

// Now implements Clock.
func (System) Now() time.Time { return time.Now() }

// Source gives cluster time to a leader. It reads the wall clock once, when
// the term begins, and counts on from there by the monotonic clock, so that the
// wall clock's jumps do not matter.
type Source struct {
	clock  Clock
	start  time.Time
	anchor int64 // cluster time at start, Unix milliseconds
}

// NewSource starts at the wall clock, or at last, the cluster time in Unix milliseconds so
// far, if that is later. Offsets are those of other nodes' wall clocks to the local one.
func NewSource(c Clock, last int64, offsets []time.Duration) *Source {
	now := c.Now()
	wall := now.UnixMilli() + correction(offsets).Milliseconds()
	return &Source{clock: c, start: now, anchor: max(wall, last)}
}

// Now returns the cluster time in Unix milliseconds, not less than last.
func (l *Source) Now(last int64) int64 {
	return max(l.anchor+l.clock.Now().Sub(l.start).Milliseconds(), last)
}

// Tolerated is how far the local wall clock may be off before others correct it.
const Tolerated = 2 * time.Second

// correction returns what to add to the local wall clock: nothing as long as it
// is among the others', else the difference to the middle of all, so that one
// clock that is days ahead cannot expire everything. Between two it takes the
// earlier: expiry may be late but not early.
func correction(offsets []time.Duration) time.Duration {
	all := slices.Sorted(slices.Values(append([]time.Duration{0}, offsets...)))
	middle := all[(len(all)-1)/2]
	if middle.Abs() <= Tolerated {
		return 0
	}
	return middle
}

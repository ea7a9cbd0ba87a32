package clustertime

import (
	"maps"
	"sync"
	"time"
)

// Offsets remembers other nodes' wall clocks, as of the last time that they told. The zero
// Offsets knows of none. It may be used by any goroutine.
type Offsets struct {
	mu   sync.Mutex
	byID map[string]offset
}

// offset is a wall clock's distance from the local one, as it was at some time.
type offset struct {
	by   time.Duration
	at   time.Time // its monotonic reading counts
	wall time.Time // what the local wall clock showed then
}

// jumped returns how much more has passed since by the local wall clock than by the
// monotonic one.
func (o offset) jumped(now time.Time) time.Duration {
	return now.Round(0).Sub(o.wall) - now.Sub(o.at)
}

// Note remembers that the wall clock of a node is ahead of the local one by d. now is the
// local time, with its monotonic reading.
func (o *Offsets) Note(id string, d time.Duration, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byID == nil {
		o.byID = make(map[string]offset)
	}
	o.byID[id] = offset{by: d, at: now, wall: now.Round(0)}
}

// Keep forgets all nodes but the given ones.
func (o *Offsets) Keep(ids map[string]bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.byID, func(id string, _ offset) bool { return !ids[id] })
}

// Of returns the known offsets of the given nodes. What the local wall clock has
// jumped since they were noted is taken into account: otherwise a node whose clock
// jumps just before it is elected would believe that the others' had, too.
func (o *Offsets) Of(ids []string, now time.Time) []time.Duration {
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

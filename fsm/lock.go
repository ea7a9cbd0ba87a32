package fsm

import (
	"sync"
	"sync/atomic"
	"time"
)

// stateLock guards the state: a writer holds it exclusively, readers share it. It measures
// how long it is held at a time, which is how long others wait.
type stateLock struct {
	sync.RWMutex
	since   time.Time // when it was taken alone
	changes holds
	reads   holds
}

// Lock, with Unlock, is that of sync.RWMutex, measured.
func (l *stateLock) Lock() {
	l.RWMutex.Lock()
	l.since = time.Now()
}

func (l *stateLock) Unlock() {
	held := time.Since(l.since)
	l.RWMutex.Unlock()
	l.changes.add(held)
}

// share is RLock for callers that read more than a few fields. Its result is for unshare.
func (l *stateLock) share() (since time.Time) {
	l.RLock()
	return time.Now()
}

func (l *stateLock) unshare(since time.Time) {
	held := time.Since(since)
	l.RUnlock()
	l.reads.add(held)
}

// holdBounds are the upper bounds of the buckets of holds.
var holdBounds = [...]time.Duration{
	10 * time.Microsecond, 50 * time.Microsecond, 100 * time.Microsecond, 500 * time.Microsecond, time.Millisecond,
	2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 500 * time.Millisecond, time.Second,
}

// holds counts durations.
type holds struct {
	buckets [len(holdBounds)]atomic.Uint64
	count   atomic.Uint64
	nanos   atomic.Int64
}

func (h *holds) add(d time.Duration) {
	for i, bound := range holdBounds {
		if d <= bound {
			h.buckets[i].Add(1)
			break
		}
	}
	h.nanos.Add(int64(d))
	h.count.Add(1)
}

// LockHolds is a histogram of how long the state's lock was held at a time.
type LockHolds struct {
	Count   uint64
	Seconds float64 // of all together
	// Buckets are by upper bound, in seconds, how many took no longer.
	Buckets map[float64]uint64
}

func (h *holds) report() LockHolds {
	r := LockHolds{Seconds: time.Duration(h.nanos.Load()).Seconds(), Buckets: make(map[float64]uint64, len(holdBounds))}
	for i, bound := range holdBounds {
		r.Count += h.buckets[i].Load()
		r.Buckets[bound.Seconds()] = r.Count
	}
	r.Count = max(r.Count, h.count.Load())
	return r
}

// LockHolds returns for how long changes, and queries, held the state's lock since the
// start. While a change holds it, all others wait; while a query does, changes wait.
func (m *Machine) LockHolds() (changes, queries LockHolds) {
	return m.mu.changes.report(), m.mu.reads.report()
}

package fsm

import (
	"sync"
	"time"

	"github.com/turnlog/turnlog/internal/histogram"
)

// stateLock guards the state: a writer holds it exclusively, readers share it. It measures
// how long it is held at a time, which is how long others wait.
type stateLock struct {
	sync.RWMutex
	since   time.Time // when it was taken alone
	changes *histogram.Durations
	reads   *histogram.Durations
}

// Lock, with Unlock, is that of sync.RWMutex, measured.
func (l *stateLock) Lock() {
	l.RWMutex.Lock()
	l.since = time.Now()
}

func (l *stateLock) Unlock() {
	held := time.Since(l.since)
	l.RWMutex.Unlock()
	l.changes.Add(held)
}

// share is RLock for callers that read more than a few fields. Its result is for unshare.
func (l *stateLock) share() (since time.Time) {
	l.RLock()
	return time.Now()
}

func (l *stateLock) unshare(since time.Time) {
	held := time.Since(since)
	l.RUnlock()
	l.reads.Add(held)
}

func (l *stateLock) measure() {
	bounds := []time.Duration{
		10 * time.Microsecond, 50 * time.Microsecond, 100 * time.Microsecond, 500 * time.Microsecond, time.Millisecond,
		2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond,
		50 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond, time.Second,
	}
	l.changes, l.reads = histogram.New(bounds...), histogram.New(bounds...)
}

// LockHolds returns for how long changes, and queries, held the state's lock since the
// start. While a change holds it, all others wait; while a query does, changes wait.
func (m *Machine) LockHolds() (changes, queries histogram.Report) {
	return m.mu.changes.Report(), m.mu.reads.Report()
}

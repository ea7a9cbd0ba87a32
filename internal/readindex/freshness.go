package readindex

import (
	"sync"
	"time"
)

// freshness proves how old this node's state is at most: it includes every
// write that was acknowledged before asOf.
type freshness struct {
	mu   sync.Mutex
	asOf time.Time
}

func (f *freshness) within(age time.Duration, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.asOf.IsZero() && now.Sub(f.asOf) <= age
}

func (f *freshness) prove(asOf time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if asOf.After(f.asOf) {
		f.asOf = asOf
	}
}

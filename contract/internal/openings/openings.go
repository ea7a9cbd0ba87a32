// Package openings measures for how long a case of the contract suite is busy opening handles. That may start
// interpreters, and so is not charged to the store's time, up to a bound.
package openings

import (
	"context"
	"sync"
	"time"
)

// Openings measures for how long handles are being opened in a case. That may start
// interpreters, and says little about the store. Any goroutine may call the methods.
type Openings struct {
	mu    sync.Mutex
	open  int       // that are in flight
	since time.Time // from then on there were some
	spent time.Duration
}

// Measure calls f, which opens a handle.
func (o *Openings) Measure(f func() error) error {
	o.mu.Lock()
	if o.open++; o.open == 1 {
		o.since = time.Now()
	}
	o.mu.Unlock()
	defer func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.open--; o.open == 0 {
			o.spent += time.Since(o.since)
		}
	}()
	return f()
}

// total is the time in which at least one handle was being opened.
func (o *Openings) total() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open == 0 {
		return o.spent
	}
	return o.spent + time.Since(o.since)
}

// most bounds the time in which handles are being opened, in limits of a case.
const most = 5

// Bound returns a context that ends, for this cause, when a case has taken longer than
// limit. Openings do not count, up to most times the limit.
func (o *Openings) Bound(ctx context.Context, limit time.Duration, cause error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		granted := time.Duration(0)
		for left := limit; left > 0; {
			select {
			case <-time.After(left):
			case <-ctx.Done():
				return
			}
			total := min(o.total(), most*limit)
			left, granted = total-granted, total
		}
		cancel(cause)
	}()
	return ctx, func() { cancel(nil) }
}

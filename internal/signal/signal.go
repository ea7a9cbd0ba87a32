// Package signal has what goroutines wake each other with: a channel that holds one signal, a wait for a change with a
// bound of time, and a gate that one goroutine at a time passes.
package signal

import (
	"context"
	"time"
)

// Channel wakes one receiver. Signals that come before it looks merge into one; none is lost.
type Channel chan struct{}

// New returns a channel that holds no signal.
func New() Channel { return make(Channel, 1) }

// Notify leaves a signal, unless one is there. It never blocks.
func (c Channel) Notify() {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Closed reports whether a channel is closed that is never sent on, without waiting for it.
func Closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Wait waits until changed is closed or has a signal, for the given time at most; 0: without such
// a bound. It reports whether ctx goes on.
func Wait(ctx context.Context, changed <-chan struct{}, atMost time.Duration) bool {
	var after <-chan time.Time
	if atMost > 0 {
		after = time.After(atMost)
	}
	select {
	case <-ctx.Done():
		return false
	case <-changed:
	case <-after:
	}
	return ctx.Err() == nil
}

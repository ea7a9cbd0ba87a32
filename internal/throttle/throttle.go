// Package throttle limits how often something is logged that clients can cause at will, such as slow or malformed
// requests: once a second, with the number of times since the last line. Any goroutine may use a Throttle.
package throttle

import (
	"sync"
	"time"
)

// every is how often something that recurs is logged.
const every = time.Second

// Throttle says when to log what clients can make happen as often as they like. The
// zero value is ready for use; its methods may be called by any goroutine.
type Throttle struct {
	mu    sync.Mutex
	last  time.Time
	count int
}

// Pass counts one time, and reports whether to log it at now: at most once a second.
// count is how often it happened since it was logged last, this time included.
func (t *Throttle) Pass(now time.Time) (count int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count++
	if now.Sub(t.last) < every {
		return 0, false
	}
	count, t.last, t.count = t.count, now, 0
	return count, true
}

package snapshot

import (
	"io"
	"sync"
	"time"
)

const (
	// transferDone is how long a snapshot counts as on its way after it was taken up: its
	// receiver is then sent what came after it.
	transferDone = 5 * time.Second
	// transferTails: during a transfer the log may grow to as many times its usual tail,
	// or to the size of the snapshot.
	transferTails = 16
)

// transfers keeps account of the snapshots that are on their way to other nodes.
//
// A node that installed a snapshot needs the log from there on. While clients write, the log
// must not lose that: the receiver would have to be sent another snapshot, and one more after
// that. So the log's tail is longer during a transfer; not without bound, since a receiver may
// fail again and again.
type transfers struct {
	clock interface{ Now() time.Time }

	mu    sync.Mutex
	open  int
	bytes int64     // the largest of those that count
	until time.Time // when the last one that is not open ceases to count
}

// begin notes that a snapshot is on its way; end, which is to be called once, that it
// was taken up, or is not wanted any more.
func (s *transfers) begin(bytes int64) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expireLocked()
	s.open++
	s.bytes = max(s.bytes, bytes)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open--
		s.until = s.clock.Now().Add(transferDone)
	}
}

func (s *transfers) expireLocked() {
	if s.open == 0 && !s.clock.Now().Before(s.until) {
		s.bytes = 0
	}
}

// tail returns how many bytes of log are to be kept, given how many usually are.
func (s *transfers) tail(usual int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expireLocked()
	if s.bytes == 0 {
		return usual
	}
	return max(usual*transferTails, s.bytes)
}

// throttled is a writer that takes so many bytes a second, so that sending a state
// leaves processor, disk and network to what clients wait for.
type throttled struct {
	to    io.Writer
	rate  int64
	stop  <-chan struct{} // closed when the rest is not wanted any more
	began time.Time
	sent  int64
}

func (t *throttled) Write(p []byte) (int, error) {
	n, err := t.to.Write(p)
	t.sent += int64(n)
	due := time.Duration(float64(t.sent) / float64(t.rate) * float64(time.Second))
	if ahead := due - time.Since(t.began); err == nil && ahead > time.Millisecond {
		select {
		case <-time.After(ahead):
		case <-t.stop:
		}
	}
	return n, err
}

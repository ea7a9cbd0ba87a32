package raftstore

import "time"

// oldest returns how long the oldest call has been waiting for its outcome.
func (t *calls) oldest() time.Duration {
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.queue {
		if !c.ended {
			return now.Sub(c.begun)
		}
	}
	return 0
}

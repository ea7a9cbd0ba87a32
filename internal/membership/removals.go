package membership

import (
	"sync"
	"time"
)

// removals are the nodes that were members until a moment ago. They may stay for
// that long: they learn from the others that they have been removed, and stop.
type removals struct {
	mu      sync.Mutex
	members map[string]bool
	left    map[string]time.Time
}

// follow notes who is a member now, and forgets those who left longer than grace ago.
func (r *removals) follow(members map[string]bool, now time.Time, grace time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left == nil {
		r.left = make(map[string]time.Time)
	}
	for id := range r.members {
		if !members[id] {
			r.left[id] = now
		}
	}
	for id, at := range r.left {
		if members[id] || now.Sub(at) > grace {
			delete(r.left, id)
		}
	}
	r.members = members
}

func (r *removals) recent(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.left[id]
	return ok
}

// Follow notes who is a member now.
func (p *Policy) Follow(members map[string]bool, now time.Time) {
	p.removed.follow(members, now, p.cfg.Grace)
}

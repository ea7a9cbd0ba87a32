package membership

import (
	"context"
	"sync"
	"time"
)

const (
	reportTime  = 500 * time.Millisecond // that a handshake waits for what members know
	reportEvery = time.Second            // members are asked at most so often
)

// reports are of members that other members know and this node does not know yet.
type reports struct {
	mu    sync.Mutex
	asked time.Time
	known map[string]uint64 // by id: what the reporter had applied; this node does not rely on it beyond
}

// have reports whether a member knew id, as of entries that this node has not applied.
func (r *reports) have(id string, applied uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	index, ok := r.known[id]
	if ok && index <= applied {
		delete(r.known, id)
		return false
	}
	return ok
}

// turn reports whether members may be asked now.
func (r *reports) turn(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.asked) < reportEvery {
		return false
	}
	r.asked = now
	return true
}

// add takes over what a member knows that has applied more than this node.
func (r *reports) add(members []string, index uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known = make(map[string]uint64)
	}
	for _, id := range members {
		r.known[id] = max(r.known[id], index)
	}
}

// reported asks the members that this node knows about one that it does not, which says
// that it is ahead. It takes a moment, and is done seldom. All that they know counts, so
// that it does not matter which node's handshake made this one ask.
func (p *Policy) reported(id string) bool {
	if p.reports.turn(time.Now()) {
		p.askMembers()
	}
	return p.reports.have(id, p.cfg.Cluster.Applied())
}

// askMembers takes over which members those know that have applied more than this node.
func (p *Policy) askMembers() {
	ctx, cancel := context.WithTimeout(context.Background(), reportTime)
	defer cancel()
	var wg sync.WaitGroup
	for _, id := range p.cfg.Cluster.Configuration().Others(p.cfg.Identity().NodeID) {
		wg.Go(func() {
			members, applied, err := p.cfg.Members(ctx, id)
			if err == nil && applied > p.cfg.Cluster.Applied() {
				p.reports.add(members, applied)
			}
		})
	}
	wg.Wait()
}

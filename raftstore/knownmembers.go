package raftstore

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/turnlog/turnlog/internal/peer"
)

const (
	vouchTime  = 500 * time.Millisecond // that a handshake waits for what members know
	vouchEvery = time.Second            // members are asked at most so often
)

// vouchers are members that know of members which this node does not know yet.
type vouchers struct {
	mu    sync.Mutex
	asked time.Time
	known map[string]uint64 // by id: what the voucher had applied; this node does not rely on it beyond
}

// know reports whether a member knew id, as of entries that this node has not applied.
func (v *vouchers) know(id string, applied uint64) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	index, ok := v.known[id]
	if ok && index <= applied {
		delete(v.known, id)
		return false
	}
	return ok
}

// turn reports whether members may be asked now.
func (v *vouchers) turn(now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if now.Sub(v.asked) < vouchEvery {
		return false
	}
	v.asked = now
	return true
}

// learn takes over what a member knows that has applied more than this node.
func (v *vouchers) learn(members []string, index uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.known == nil {
		v.known = make(map[string]uint64)
	}
	for _, id := range members {
		v.known[id] = max(v.known[id], index)
	}
}

// vouched asks the members that this node knows about one that it does not, which says
// that it is ahead. It takes a moment, and is done seldom. All that they know counts, so
// that it does not matter which node's handshake made this one ask.
func (n *Node) vouched(r peer.Facts) bool {
	if n.vouchers.turn(time.Now()) {
		n.askMembers()
	}
	return n.vouchers.know(r.NodeID, n.appliedIndex())
}

// askMembers takes over which members those know that have applied more than this node.
func (n *Node) askMembers() {
	ctx, cancel := context.WithTimeout(context.Background(), vouchTime)
	defer cancel()
	var wg sync.WaitGroup
	for _, s := range n.configuration().Servers {
		if string(s.ID) == n.id {
			continue
		}
		wg.Go(func() {
			st, err := n.statusOf(ctx, string(s.ID))
			if err == nil && st.Applied > n.appliedIndex() {
				n.vouchers.learn(st.Members, st.Applied)
			}
		})
	}
	wg.Wait()
}

// knownMembers returns the members that this node knows, be it that their addition is not
// committed yet.
func (n *Node) knownMembers() (ids []string) {
	for _, s := range n.configuration().Servers {
		ids = append(ids, string(s.ID))
	}
	for _, m := range n.state.Members() {
		if !slices.Contains(ids, m.ID) {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

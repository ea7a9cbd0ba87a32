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

// An older copy of a node's directory may be from before another member was added. The node
// cannot ask that one, which may be the only one that has seen what the copy lacks. So each
// member says what it has seen of a node with its own question (see exchange), and names the
// members that it knows when it answers one. A node that starts lets those in that are named to
// it, and gives no vote before all of them have spoken, or the time for answers is over.

// hearsay are the members that others name to a node while it starts, and those that have spoken.
// Both are bounded by the members that members know.
type hearsay struct {
	mu    sync.Mutex
	named map[string]bool
	spoke map[string]bool
}

// name notes members that another one knows.
func (h *hearsay) name(ids []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.named == nil {
		h.named = make(map[string]bool)
	}
	for _, id := range ids {
		h.named[id] = true
	}
}

// knows reports whether a member was named.
func (h *hearsay) knows(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.named[id]
}

// speak notes that a member has said what it has seen of this node, and reports whether it is
// the first time.
func (h *hearsay) speak(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.spoke == nil {
		h.spoke = make(map[string]bool)
	}
	first := !h.spoke[id]
	h.spoke[id] = true
	return first
}

// awaits reports whether a member was named that has not spoken yet, and is neither this node nor
// one of those that it asks itself.
func (h *hearsay) awaits(self string, asked []string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id := range h.named {
		if id != self && !h.spoke[id] && !slices.Contains(asked, id) {
			return true
		}
	}
	return false
}

// toldUnasked judges what another node's question says that it has seen of this one.
func (n *Node) toldUnasked(id string, seen seenAnswer) {
	n.judgeUnasked(id, seen)
	// Two nodes that start would otherwise answer each question with the next one.
	if n.ballot.Ready() != nil && n.hearsay.speak(id) {
		n.signals.peerConnected.Notify()
	}
}

// learnMembers takes over whom another member names while this node starts. Until it may vote,
// those are let in (see outsider).
func (n *Node) learnMembers(ids []string) {
	if n.ballot.Ready() != nil {
		n.hearsay.name(ids)
	}
}

// maySpeak reports whether a node is let in since it was named, and this node still starts.
func (n *Node) maySpeak(id string) bool { return n.ballot.Ready() != nil && n.hearsay.knows(id) }

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

package raftstore

import (
	"slices"
	"sync"
)

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

package rollback

import (
	"slices"
	"sync"
)

// An older copy of a node's directory may be from before another member was added. The node
// cannot ask that one, which may be the only one that has seen what the copy lacks. So each
// member says what it has seen of a node with its own question, and names the
// members that it knows when it answers one. A node that starts accepts connections of those that
// are named to it, and gives no vote before all of them have told what they saw, or the time for
// answers is over.

// introductions are the members that others name to a node while it starts, and those that have told
// what they saw. Both are bounded by the members that members know.
type introductions struct {
	mu    sync.Mutex
	named map[string]bool
	spoke map[string]bool
}

// name notes members that another one knows.
func (i *introductions) name(ids []string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.named == nil {
		i.named = make(map[string]bool)
	}
	for _, id := range ids {
		i.named[id] = true
	}
}

// has reports whether a member was named.
func (i *introductions) has(id string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.named[id]
}

// told notes that a member has told what it has seen of this node, and reports whether it is
// the first time.
func (i *introductions) told(id string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.spoke == nil {
		i.spoke = make(map[string]bool)
	}
	first := !i.spoke[id]
	i.spoke[id] = true
	return first
}

// await reports whether a member was named that has not told yet, and is neither this node nor
// one of those that it asks itself.
func (i *introductions) await(self string, asked []string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	for id := range i.named {
		if id != self && !i.spoke[id] && !slices.Contains(asked, id) {
			return true
		}
	}
	return false
}

// introduce takes over which members another one names while this node starts. Until it may vote,
// their connections are accepted (see Awaits).
func (d *Detector) introduce(ids []string) {
	if d.cfg.Ballot.Ready() != nil {
		d.introduced.name(ids)
	}
}

// Awaits reports whether a node was named to this one, which still starts, and may connect to tell
// what it saw.
func (d *Detector) Awaits(id string) bool { return d.cfg.Ballot.Ready() != nil && d.introduced.has(id) }

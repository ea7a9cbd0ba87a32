package memtable

import (
	"slices"
	"sync"

	"github.com/tidwall/btree"
)

// order is a set of keys that is put in order when it is walked through: by a
// flush, or a listing. A key costs much less then than where it is added, since
// many are compared with each other while they are in the processor's cache.
//
// To sort many takes time in which the state must not be locked: settle is called
// before walk, which then sorts what came since.
type order struct {
	Fresh []string // all that were added, in that order; under the machine's mu

	settling sync.Mutex // held by settle
	mu       sync.Mutex // of the rest
	sorted   *btree.Map[string, struct{}]
	done     int // so many of fresh are in sorted
}

// add adds a key that is not among the set's.
func (o *order) add(key string) { o.Fresh = append(o.Fresh, key) }

// Walk returns the keys in order. They stay valid while none is added. The caller holds
// the machine's mu, unless no key is added any more.
func (o *order) Walk() *btree.Map[string, struct{}] {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sorted == nil {
		o.sorted = new(btree.Map[string, struct{}])
	}
	insertSorted(o.sorted, o.Fresh[o.done:])
	o.done = len(o.Fresh)
	return o.sorted
}

// Unsorted returns how many keys walk would have to sort. The caller holds the machine's
// mu.
func (o *order) Unsorted() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.Fresh) - o.done
}

// Settle sorts keys, which are those of fresh as of some moment. It needs no other lock:
// what is walked through does not change.
func (o *order) Settle(fresh []string) {
	o.settling.Lock()
	defer o.settling.Unlock()
	o.mu.Lock()
	done := o.done
	sorted := new(btree.Map[string, struct{}])
	if o.sorted != nil {
		sorted = o.sorted.IsoCopy()
	}
	o.mu.Unlock()
	if done >= len(fresh) {
		return
	}
	insertSorted(sorted, fresh[done:])
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.done == done { // else another walk has sorted them
		o.sorted, o.done = sorted, len(fresh)
	}
}

func insertSorted(set *btree.Map[string, struct{}], keys []string) {
	if len(keys) == 0 {
		return
	}
	keys = slices.Sorted(slices.Values(keys))
	for _, key := range keys {
		set.Set(key, struct{}{})
	}
}

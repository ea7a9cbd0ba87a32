package fsm

import (
	"slices"
	"sync"

	"github.com/tidwall/btree"
)

// order is a set of keys that is put in order when somebody walks through it: a
// flush, or a listing. A key costs much less then than where it is added, since
// many are compared with each other while they are in the processor's cache.
type order struct {
	mu     sync.Mutex // held by walk, which several may call at a time
	fresh  []string   // not yet in sorted
	sorted btree.Set[string]
}

// add adds a key that is not among the set's.
func (o *order) add(key string) { o.fresh = append(o.fresh, key) }

// walk returns the keys in order. They stay valid while none is added.
func (o *order) walk() *btree.Set[string] {
	o.mu.Lock()
	defer o.mu.Unlock()
	slices.Sort(o.fresh)
	for _, key := range o.fresh {
		o.sorted.Insert(key)
	}
	o.fresh = o.fresh[:0]
	return &o.sorted
}

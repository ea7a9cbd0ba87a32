package memtable

import (
	"github.com/tidwall/btree"

	"github.com/turnlog/turnlog/fsm/internal/store"
)

// mergeIter walks through the keys of the memtables and of a bucket of the store in order,
// upwards or downwards, each key once. The newest memtable that knows a key decides what it
// holds, a tombstone included; the store decides if none does. V is what a memtable keeps of
// a key: mergeIter does not look at it, so that tombstones are shown to the caller.
//
// The zero value has nothing to walk through. After addMemory, readStore, and the setting of
// down and the bounds, seek comes before next. An iterator is valid while neither the memtables
// nor the transaction that reads the store change.
//
// It misses nothing of the store because of a damaged key (see store.Cursor): pairs that it
// does not show it holds against their seals; the others the caller has to.
type mergeIter[V any] struct {
	down bool
	// Bounds: keys below low are not shown, nor, if high is not empty, high and those above.
	low, high string

	memory  [maxMemtables]memoryIter[V] // newest first
	sources int                         // so many of memory are used
	store   store.Cursor                // its Cursor is nil if the store is not read
	pair    store.Pair                  // of the store, where its cursor is
	met     bool                        // pair was held against its seal
	Err     error                       // damage to the store, which ended the walk

	// Where the iterator is.
	Key    string
	source int  // place in memory of what decides, inStore if it is the store
	begun  bool // since the last seek: it is at key
}

// inStore is the source of keys that no memtable knows.
const inStore = -1

// memoryIter is the walk through one memtable.
type memoryIter[V any] struct {
	btree.MapIter[string, V]
	valid bool // it is at a key
}

// addMemory adds a memtable that is older than those added before.
func (it *mergeIter[V]) addMemory(m *btree.Map[string, V]) {
	it.memory[it.sources].MapIter = m.Iter()
	it.sources++
}

// readStore adds a bucket of the store, which is older than all memtables.
func (it *mergeIter[V]) readStore(tx *store.Reading, bucket []byte) { it.store = tx.CursorOf(bucket) }

// Seek has next go to the first key within the bounds from at on or, downwards, to the last
// one below at.
func (it *mergeIter[V]) Seek(at string) {
	switch {
	case !it.down:
		at = max(at, it.low)
	case it.high != "":
		at = min(at, it.high)
	}
	it.begun = false
	for i := range it.sources {
		switch m := &it.memory[i]; {
		case !it.down:
			m.valid = m.Seek(at)
		case m.Seek(at):
			m.valid = m.Prev()
		default:
			m.valid = m.Last()
		}
	}
	if it.store.Cursor != nil && it.Err == nil {
		it.Err = it.seekStore([]byte(at))
	}
}

// seekStore is seek for the store.
func (it *mergeIter[V]) seekStore(at []byte) error {
	below, above, err := it.store.Search(at)
	if err != nil {
		return err
	}
	it.met = false
	if it.down {
		if it.pair = below; above.Is(at) {
			it.pair.Key, it.pair.Value = it.store.Prev()
		}
		return it.store.Whole(above)
	}
	if it.pair = above; below.Key != nil {
		it.store.Next()
	}
	return it.store.Whole(below)
}

// Next goes to the next key. It returns false when there is none within the bounds, until the
// next seek.
func (it *mergeIter[V]) Next() bool {
	if it.begun {
		it.leave()
	}
	if it.begun = it.choose(); !it.begun || it.source != inStore {
		it.meet()
	}
	if it.Err != nil || !it.begun {
		it.end()
	}
	return it.begun
}

// choose sets key and source to what comes next, and reports whether that is within the bounds.
func (it *mergeIter[V]) choose() bool {
	found := false
	for i := range it.sources {
		if m := &it.memory[i]; m.valid {
			if k := m.Key(); !found || k != it.Key && (k < it.Key) != it.down {
				it.Key, it.source, found = k, i, true
			}
		}
	}
	if k := it.pair.Key; k != nil && (!found || string(k) != it.Key && (string(k) < it.Key) != it.down) {
		it.Key, it.source, found = string(k), inStore, true
	}
	return found && it.Key >= it.low && (it.high == "" || it.Key < it.high)
}

// meet holds the pair of the store to which the walk has come against its seal.
func (it *mergeIter[V]) meet() {
	if it.Err == nil && !it.met {
		it.Err, it.met = it.store.Whole(it.pair), true
	}
}

// leave moves on all that are at the iterator's key.
func (it *mergeIter[V]) leave() {
	for i := range it.sources {
		switch m := &it.memory[i]; {
		case !m.valid || m.Key() != it.Key:
		case it.down:
			m.valid = m.Prev()
		default:
			m.valid = m.Next()
		}
	}
	if it.pair.Key == nil || string(it.pair.Key) != it.Key {
		return
	}
	it.met = false
	if it.down {
		it.pair.Key, it.pair.Value = it.store.Prev()
	} else {
		it.pair.Key, it.pair.Value = it.store.Next()
	}
}

// end lets nothing come after it but by another seek.
func (it *mergeIter[V]) end() {
	for i := range it.sources {
		it.memory[i].valid = false
	}
	it.pair, it.begun = store.Pair{}, false
}

// changed returns what the newest memtable that knows the key keeps of it. ok is false if
// the store decides: see stored.
func (it *mergeIter[V]) changed() (v V, ok bool) {
	if it.source == inStore {
		return v, false
	}
	return it.memory[it.source].Value(), true
}

// stored returns the pair of the store, if that decides. It is valid for as long as the
// transaction.
func (it *mergeIter[V]) stored() (key, value []byte) {
	return it.pair.Key, it.pair.Value
}

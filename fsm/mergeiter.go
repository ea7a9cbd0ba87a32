package fsm

import (
	"github.com/tidwall/btree"
	"go.etcd.io/bbolt"
)

// mergeIter walks through the keys of the memtables and of a bucket of the store in order,
// upwards or downwards, each key once. The newest memtable that knows a key decides what it
// holds, a tombstone included; the store decides if none does. V is what a memtable keeps of
// a key: mergeIter does not look at it, so that tombstones are shown to the caller.
//
// The zero value has nothing to walk through. After addMemory, and the setting of cursor, down
// and the bounds, seek comes before next. An iterator is valid while neither the memtables nor
// the transaction of the cursor change.
type mergeIter[V any] struct {
	down bool
	// Bounds: keys below low are not shown, nor, if high is not empty, high and those above.
	low, high string

	memory  [maxMemtables]memoryIter[V] // newest first
	sources int                         // so many of memory are used
	cursor  *bbolt.Cursor               // nil: there is no bucket, or it is not read
	k, v    []byte                      // of the cursor; k is nil where it is at its end

	// Where the iterator is.
	key    string
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

// seek has next go to the first key within the bounds from at on or, downwards, to the last
// one below at.
func (it *mergeIter[V]) seek(at string) {
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
	if it.cursor == nil {
		return
	}
	it.k, it.v = it.cursor.Seek([]byte(at))
	switch {
	case !it.down:
	case it.k != nil:
		it.k, it.v = it.cursor.Prev()
	default:
		it.k, it.v = it.cursor.Last()
	}
}

// next goes to the next key. It returns false when there is none within the bounds, until the
// next seek.
func (it *mergeIter[V]) next() bool {
	if it.begun {
		it.leave()
	}
	it.begun = false
	found := false
	for i := range it.sources {
		if m := &it.memory[i]; m.valid {
			if k := m.Key(); !found || k != it.key && (k < it.key) != it.down {
				it.key, it.source, found = k, i, true
			}
		}
	}
	if it.k != nil && (!found || string(it.k) != it.key && (string(it.k) < it.key) != it.down) {
		it.key, it.source, found = string(it.k), inStore, true
	}
	it.begun = found && it.key >= it.low && (it.high == "" || it.key < it.high)
	if !it.begun {
		it.end()
	}
	return it.begun
}

// leave moves on all that are at the iterator's key.
func (it *mergeIter[V]) leave() {
	for i := range it.sources {
		switch m := &it.memory[i]; {
		case !m.valid || m.Key() != it.key:
		case it.down:
			m.valid = m.Prev()
		default:
			m.valid = m.Next()
		}
	}
	switch {
	case it.k == nil || string(it.k) != it.key:
	case it.down:
		it.k, it.v = it.cursor.Prev()
	default:
		it.k, it.v = it.cursor.Next()
	}
}

// end lets nothing come after it but by another seek.
func (it *mergeIter[V]) end() {
	for i := range it.sources {
		it.memory[i].valid = false
	}
	it.k, it.v = nil, nil
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
func (it *mergeIter[V]) stored() (key, value []byte) { return it.k, it.v }

// afterKey returns the key that follows directly.
func afterKey(key string) string { return key + "\x00" }

// prefixEnd returns the upper bound of the keys that begin with prefix: the least string
// above all of them, empty if there is none.
func prefixEnd(prefix string) string {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			return prefix[:i] + string([]byte{prefix[i] + 1})
		}
	}
	return ""
}

// Package cursors has the numbers by which Redis's clients go on with an iteration.
package cursors

import (
	"hash/fnv"
	"sync"
)

// kept is how many iterations in progress a node remembers.
const kept = 4096

// Table turns the engine's cursors, which are keys, into numbers, which is what
// Redis clients take: a hash of the key, of 53 bits, since JavaScript clients
// take it for a floating-point number. A node remembers which key it stands for;
// another node, or this one after a restart, finds it by hashing all keys. The zero Table remembers
// none.
type Table struct {
	mu    sync.Mutex
	place map[uint64]string // number → key, of the newest kept
	given []uint64          // the same numbers, as a ring
	next  int               // in given
}

// Number is the number that stands for a cursor of the engine: a hash of the key.
func Number(namespace, key string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(namespace))
	h.Write([]byte{0})
	h.Write([]byte(key))
	return max(1, h.Sum64()>>11)
}

// Give returns the number for a cursor; 0 for none, at the end of an iteration. Any goroutine
// may call it.
func (t *Table) Give(namespace, key string) uint64 {
	if key == "" {
		return 0
	}
	n := Number(namespace, key)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.place == nil {
		t.place, t.given = make(map[uint64]string), make([]uint64, kept)
	}
	if _, ok := t.place[n]; ok {
		return n
	}
	delete(t.place, t.given[t.next])
	t.place[n] = key
	t.given[t.next] = n
	t.next = (t.next + 1) % kept
	return n
}

// Find returns the cursor that a number stands for, if the node remembers it. Any goroutine may call it.
func (t *Table) Find(n uint64) (key string, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key, ok = t.place[n]
	return key, ok
}

// Package cursors translates between the cursors of SCAN and its kin, which Redis's clients expect to be numbers, and
// those of the engine, which are the names of keys.
//
// A number is a hash of 53 bits of the name, since JavaScript's clients keep it in a floating-point number. The node
// that gave a number remembers the name; any other node, or the same one after a restart, finds it by hashing the names
// in question, a bounded number of them in each call. Each user has a table of a bounded size. Any goroutine may use a
// Table.
package cursors

import (
	"hash/fnv"
	"sync"
)

// kept is how many iterations in progress a node remembers of a user, and keptSearches how many
// searches.
const (
	kept         = 4096
	keptSearches = 256
)

// Tables are the tables of all users, so that none makes the node forget what it remembers for
// another. The zero Tables has none.
type Tables struct {
	mu     sync.Mutex
	byUser map[string]*Table
}

// Of returns the table of a user; empty: there are no users. Any goroutine may call it.
func (ts *Tables) Of(user string) *Table {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := ts.byUser[user]
	if t == nil {
		if ts.byUser == nil {
			ts.byUser = make(map[string]*Table)
		}
		t = new(Table)
		t.places.most, t.searches.most = kept, keptSearches
		ts.byUser[user] = t
	}
	return t
}

// Table turns the engine's cursors, which are names, into numbers, which is what
// Redis clients take: a hash of the name and of where it is, of 53 bits, since JavaScript clients
// take it for a floating-point number. A node remembers which name a number stands for; another node, or this one
// after a restart, finds it by hashing all names, some of them in each call: Searched is how far it has come.
// Any goroutine may call the methods.
type Table struct {
	mu               sync.Mutex
	places, searches ring
}

// Number is the number that stands for a cursor of the engine: a hash of its name, and of where that is.
func Number(where, name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(where))
	h.Write([]byte{0})
	h.Write([]byte(name))
	return max(1, h.Sum64()>>11)
}

// Give returns the number for a cursor; 0 for none, at the end of an iteration.
func (t *Table) Give(where, name string) uint64 {
	if name == "" {
		return 0
	}
	n := Number(where, name)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.places.put(n, name)
	return n
}

// Find returns the cursor that a number stands for there, if the node remembers it.
func (t *Table) Find(where string, n uint64) (name string, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	name, ok = t.places.names[n]
	return name, ok && Number(where, name) == n
}

// Searched returns up to which name a number was searched for; empty: it was not.
func (t *Table) Searched(where string, n uint64) (name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.searches.names[search(where, n)]
}

// NoteSearched notes it; empty: the search has ended.
func (t *Table) NoteSearched(where string, n uint64, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.searches.put(search(where, n), name)
}

// search is the number of a search for a number.
func search(where string, n uint64) uint64 { return Number(where, "") ^ n }

// ring remembers the names of the newest numbers, most of them.
type ring struct {
	most  int
	names map[uint64]string
	given []uint64 // the same numbers
	next  int      // the oldest in given, once that is full
}

func (r *ring) put(n uint64, name string) {
	if r.names == nil {
		r.names = make(map[uint64]string)
	}
	if _, ok := r.names[n]; ok {
		r.names[n] = name
		return
	}
	if len(r.given) < r.most {
		r.given = append(r.given, n)
	} else {
		delete(r.names, r.given[r.next])
		r.given[r.next] = n
		r.next = (r.next + 1) % r.most
	}
	r.names[n] = name
}

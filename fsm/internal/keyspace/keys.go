// Package keyspace has the keys of the state as of the entry that is applied: the heads of sessions and of other
// values, their deadlines, the revisions of namespaces, the index of labels, and who watches which key. It knows
// neither operations nor queries.
//
// Heads are changed only by their owner: Own and Begin return a head that the active memtable holds. The lock of the
// state guards everything here. Expiry deletes a bounded number of keys in each entry, the same on all nodes.
package keyspace

import (
	"fmt"
	"math"

	"github.com/turnlog/turnlog/fsm/internal/cost"
	"github.com/turnlog/turnlog/fsm/internal/gaps"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/turn"
)

// Keys are the keys as of the entry that is applied: what operations read and change, and what they may
// cost. They are guarded by the lock of the state. Unless it says otherwise, a method is only for use
// while an entry is applied, by a goroutine that holds the lock alone. An owned head is one that Own or
// Begin returned.
type Keys struct {
	store  *store.Store
	Tables memtable.Tables
	Meta   layout.Meta // the current one; memtables hold copies
	namespaces
	Gaps      gaps.Set // between the keys that exist
	nextDue   int64    // earliest deadline in the due index, 0 if it is empty
	Allowance cost.Allowance
	// tx reads the store; it is opened on first use and closed before the lock is released.
	tx    *store.Reading
	fault error // see Fault
	watches
	Chance func() float64 // a random number in [0, 1)
}

// New returns the keys of a store, which Load is to take from it. chance returns a random
// number in [0, 1).
func New(store *store.Store, chance func() float64) *Keys {
	ks := &Keys{store: store, Chance: chance}
	ks.namespaces.tables = &ks.Tables
	return ks
}

// Stamp says which state the answer is from. It is for any caller that holds the
// lock of the state, at least for reading.
func (ks *Keys) Stamp(r *turn.Result) { r.Index, r.Time = ks.Meta.Index, ks.Meta.Clock }

// Reading returns the transaction that reads the store until EndReading.
func (ks *Keys) Reading() (*store.Reading, error) {
	if ks.tx == nil {
		tx, err := ks.store.Read()
		if err != nil {
			return nil, fmt.Errorf("read the state: %w", err)
		}
		ks.tx = tx
	}
	return ks.tx, nil
}

// Reads reports whether the store is being read: the transaction is open.
func (ks *Keys) Reads() bool { return ks.tx != nil }

// EndReading ends the transaction that reads the store, if it is open.
func (ks *Keys) EndReading() {
	if ks.tx != nil {
		ks.tx.End()
		ks.tx = nil
	}
}

// Head returns the head of a key, expired or not, nil if there is none.
func (ks *Keys) Head(key string) (*memtable.Head, error) {
	if h, known := ks.Tables.Head(key); known {
		return h, nil
	}
	tx, err := ks.Reading()
	if err != nil {
		return nil, err
	}
	return memtable.StoredHead(tx, key)
}

// Own returns the head as part of the active memtable, to be changed.
func (ks *Keys) Own(key string, h *memtable.Head) *memtable.Head {
	return ks.Tables.Own(key, h)
}

// Begin makes a value without elements under a key that holds nothing.
func (ks *Keys) Begin(key string, typ turn.Type) *memtable.Head {
	ks.Meta.LastInc++
	h := &memtable.Head{Head: layout.Head{Inc: ks.Meta.LastInc, Type: typ, Created: ks.Meta.Clock}}
	ks.Tables.Active.Begin(key, h)
	ks.Gaps.Cut(key)
	return h
}

// Spend takes the cost of an operation off the allowance, before it changes anything.
func (ks *Keys) Spend(n uint64) error { return ks.Allowance.Spend(n) }

// View returns a session's messages, store included.
func (ks *Keys) View(h *memtable.Head) (memtable.View, error) {
	v := ks.Tables.View(h, nil)
	v.LearnFor(h)
	if v.Complete() {
		return v, nil
	}
	tx, err := ks.Reading()
	v.Tx = tx
	return v, err
}

// Fault returns what keeps the entry from being applied as a whole, nil if nothing does: what the
// disk answered when an index of labels was to be changed.
func (ks *Keys) Fault() error { return ks.fault }

// Now returns the cluster time.
func (ks *Keys) Now() int64 { return ks.Meta.Clock }

// After returns the cluster time in so many milliseconds. One that no number holds is the
// highest there is.
func (ks *Keys) After(ms int64) int64 {
	then := ks.Meta.Clock + ms
	if ms > 0 && then < ks.Meta.Clock {
		return math.MaxInt64
	}
	return then
}

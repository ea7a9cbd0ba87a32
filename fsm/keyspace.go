package fsm

import (
	"fmt"
	"math"

	"github.com/turnlog/turnlog/fsm/internal/gaps"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/turn"
)

// keyspace is the keys as of the entry that is applied: what operations read and change, and
// what they may cost. Unless it says otherwise, a method is only for use in Apply. An owned
// head is one that Own or Begin returned.
type keyspace struct {
	store  *store.Store
	tables memtable.Tables
	// meta is the current one; memtables hold copies.
	meta       layout.Meta
	namespaces namespaces
	gaps       gaps.Set // between the keys that exist
	nextDue    int64    // earliest deadline in the due index, 0 if it is empty
	allowance  allowance
	// tx reads the store; it is opened on first use under the machine's mu and closed
	// before that is released.
	tx *store.Reading
	// fault is what the disk answered when an index of labels was to be changed: the entry is not
	// applied whole.
	fault   error
	watches watches
	chance  func() float64 // in [0, 1)
}

// storeTx returns the transaction that reads the store while mu is held.
func (ks *keyspace) storeTx() (*store.Reading, error) {
	if ks.tx == nil {
		tx, err := ks.store.Read()
		if err != nil {
			return nil, fmt.Errorf("read the state: %w", err)
		}
		ks.tx = tx
	}
	return ks.tx, nil
}

func (ks *keyspace) closeTx() {
	if ks.tx != nil {
		ks.tx.End()
		ks.tx = nil
	}
}

// stored returns the head of a key, expired or not, nil if there is none.
func (ks *keyspace) stored(key string) (*memtable.Head, error) {
	if h, known := ks.tables.Head(key); known {
		return h, nil
	}
	tx, err := ks.storeTx()
	if err != nil {
		return nil, err
	}
	return memtable.StoredHead(tx, key)
}

// Find returns the head of an existing key, whatever its type, nil if there is
// none. One whose time has come is deleted now, whether or not its turn in the
// due index has come.
func (ks *keyspace) Find(key string) (*memtable.Head, error) {
	h, err := ks.stored(key)
	if h != nil && h.Expired(ks.meta.Clock) {
		ks.Remove(key, h)
		return nil, nil
	}
	return h, err
}

// Own returns the head as part of the active memtable, to be changed.
func (ks *keyspace) Own(key string, h *memtable.Head) *memtable.Head {
	return ks.tables.Own(key, h)
}

// Begin makes a value without elements under a key that holds nothing.
func (ks *keyspace) Begin(key string, typ turn.Type) *memtable.Head {
	ks.meta.LastInc++
	h := &memtable.Head{Head: layout.Head{Inc: ks.meta.LastInc, Type: typ, Created: ks.meta.Clock}}
	ks.tables.Active.Begin(key, h)
	ks.gaps.Cut(key)
	return h
}

// Remove deletes a key. A session's ids are remembered for a while if it had any.
func (ks *keyspace) Remove(key string, h *memtable.Head) {
	if h.Labelled {
		ks.unlabel(key, &h.Head)
	}
	ks.namespaces.count(key, h.Held(), false)
	ks.tables.Active.Remove(key, h)
	if of := rememberedOf(h); of.any() {
		g := layout.Tombstone{Inc: h.Inc, Last: h.Last, Moves: h.Moves, Deadline: ks.After(turn.TombstoneTime)}
		ks.tables.Active.AddTombstone(layout.TombstoneKey(key, g.Inc), g)
		ks.meta.TombstonesUntil = max(ks.meta.TombstonesUntil, g.Deadline)
	}
	ks.namespaces.advance(key)
	ks.watches.notify(key)
}

// changed gives an owned head, which was changed, its new revision.
func (ks *keyspace) changed(key string, h *memtable.Head) {
	before := h.Revision
	h.Revision, h.Updated = ks.namespaces.advance(key), ks.meta.Clock
	if len(h.Meta) > 0 || h.Labelled {
		ks.relabel(key, h, before)
	}
	ks.watches.notify(key)
}

// Settle finishes a change of the elements of an owned head; before says whether Redis saw
// the key before it. A value without elements is removed, another gets its new revision,
// which is returned; of a removed one, that of the removal or a higher one.
func (ks *keyspace) Settle(key string, h *memtable.Head, before bool) (revision uint64) {
	ks.namespaces.count(key, before, h.Held())
	if !h.Held() {
		ks.Remove(key, h)
		return ks.Revision(key)
	}
	ks.changed(key, h)
	return h.Revision
}

// Revision returns that of the last change in the namespace of key, or a higher one.
func (ks *keyspace) Revision(key string) uint64 { return ks.namespaces.revision(key) }

// Spend takes the cost of an operation off the allowance, before it changes anything.
func (ks *keyspace) Spend(n uint64) error { return ks.allowance.spend(n) }

// view returns a session's messages, store included.
func (ks *keyspace) view(h *memtable.Head) (memtable.View, error) {
	v := ks.tables.View(h, nil)
	v.LearnFor(h)
	if v.Complete() {
		return v, nil
	}
	tx, err := ks.storeTx()
	v.Tx = tx
	return v, err
}

// Now returns the cluster time.
func (ks *keyspace) Now() int64 { return ks.meta.Clock }

// After returns the cluster time in so many milliseconds. One that no number holds is the
// highest there is.
func (ks *keyspace) After(ms int64) int64 {
	then := ks.meta.Clock + ms
	if ms > 0 && then < ks.meta.Clock {
		return math.MaxInt64
	}
	return then
}

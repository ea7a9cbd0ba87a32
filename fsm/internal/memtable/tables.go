package memtable

import (
	"sync"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/fsm/internal/tags"
)

// Tables are the memtables of a node. Only the active one is written to.
//
// Those that read and write them hold the lock of the state, those that read at least for reading.
type Tables struct {
	Active *Table
	Frozen *Table // on its way to the store; nil: none
	Warm   *Table // what the store took up last; nil: none
	// copying is held while what the active one holds of a key is shared.
	copying sync.Mutex
}

// Forget forgets what was in memory: the active memtable is an empty one.
func (t *Tables) Forget() { t.Active, t.Frozen, t.Warm = NewTable(), nil, nil }

// Freeze makes the active memtable the frozen one, as of a state, and an empty one the active one.
func (t *Tables) Freeze(meta layout.Meta, applied tags.Set) {
	t.Active.Meta, t.Active.tags = meta, applied.Share()
	t.Frozen, t.Active = t.Active, NewTable()
}

// TakenUp is told that the store has the frozen memtable, which is the warm one from now on.
func (t *Tables) TakenUp() {
	if t.Frozen.Bytes > 0 {
		t.Warm = t.Frozen
	}
	t.Frozen = nil
}

// Unflushed estimates the memory of what the store does not have.
func (t *Tables) Unflushed() int {
	n := t.Active.Bytes
	if t.Frozen != nil {
		n += t.Frozen.Bytes
	}
	return n
}

// Own returns a head as part of the active memtable, to be changed.
func (t *Tables) Own(key string, h *Head) *Head {
	if h.in == t.Active {
		return h
	}
	mine := *h
	t.Active.SetHead(key, &mine)
	return &mine
}

// Settling returns what sorts the keys of the memtables that have more than so many to sort: it is
// to be called without the lock of the state.
func (t *Tables) Settling(most int) (sorts []func()) {
	for _, t := range t.all() {
		if t.Order.Unsorted() > most {
			fresh := t.Order.Fresh
			sorts = append(sorts, func() { t.Order.Settle(fresh) })
		}
	}
	return sorts
}

// dueWalk is a walk through the due index.
type dueWalk struct{ mergeIter[struct{}] }

// Due returns a walk through the entries of the due index behind the due floor.
func (t *Tables) Due(tx *store.Reading, floor string) *dueWalk {
	it := new(dueWalk)
	it.low = layout.AfterKey(floor)
	it.readStore(tx, layout.BucketDue)
	for _, table := range t.all() {
		it.addMemory(&table.due)
	}
	it.Seek(it.low)
	return it
}

// Entry returns the next entry, empty if there is none.
func (it *dueWalk) Entry() (string, error) {
	if !it.Next() {
		return "", it.Err
	}
	if it.source == inStore {
		k, v := it.stored()
		if _, err := layout.Dumped(layout.BucketDue, k, v); err != nil {
			return "", err
		}
	}
	return it.Key, nil
}

// tombstoneWalk is a walk through the tombstones of a key, latest first.
type tombstoneWalk struct{ mergeIter[layout.Tombstone] }

// TombstonesOf returns a walk through the tombstones of a key, of incarnations up to lastInc.
func (t *Tables) TombstonesOf(tx *store.Reading, key string, lastInc uint64) *tombstoneWalk {
	w := new(tombstoneWalk)
	w.down, w.low = true, layout.TombstonePrefix(key)
	w.high = layout.AfterKey(layout.TombstoneKey(key, lastInc))
	w.readStore(tx, layout.BucketTombstones)
	for _, table := range t.all() {
		w.addMemory(&table.tombstones)
	}
	w.Seek(w.high)
	return w
}

// Tombstone returns the one that the walk is at.
func (w *tombstoneWalk) Tombstone() (layout.Tombstone, error) {
	if g, known := w.changed(); known {
		return g, nil
	}
	return layout.DecodeTombstone(w.stored())
}

// maxMemtables is how many memtables there are at most: an active, a frozen and a warm one.
const maxMemtables = 3

// all returns those that are in memory, newest first.
func (t *Tables) all() []*Table {
	ts := append(make([]*Table, 0, maxMemtables), t.Active)
	for _, older := range [...]*Table{t.Frozen, t.Warm} {
		if older != nil {
			ts = append(ts, older)
		}
	}
	return ts
}

// Head finds a session's head in memory; known tells whether memory decides.
// The head must not be changed: own it first.
func (t *Tables) Head(key string) (h *Head, known bool) {
	h, known = t.Active.Heads[key]
	if !known && t.Frozen != nil {
		h, known = t.Frozen.Heads[key]
	}
	if !known && t.Warm != nil {
		h, known = t.Warm.Heads[key]
	}
	return h, known
}

// View returns a session's messages as of now. Without tx it sees only what
// is in memory. The caller holds mu, at least for reading.
func (t *Tables) View(h *Head, tx *store.Reading) View {
	v := t.IDs(h.Inc, tx)
	v.low, v.high = h.Floors(), h.High
	return v
}

// IDs is view for an incarnation of which only ids matter, not what is live.
func (t *Tables) IDs(inc uint64, tx *store.Reading) View {
	v := View{inc: inc, Tx: tx}
	if t.Warm != nil {
		v.layers[0] = t.Warm.layer(inc)
	}
	if t.Frozen != nil {
		v.layers[1] = t.Frozen.layer(inc)
	}
	v.layers[2] = t.Active.layer(inc)
	v.edited = v.layers[0].edits != nil || v.layers[1].edits != nil || v.layers[2].edits != nil
	return v
}

// Elements returns what the memtables know of the elements of an
// incarnation; whole tells that the store knows nothing more. It is valid while
// mu is held.
func (t *Tables) Elements(inc uint64) (e Elements, whole bool) {
	e.Inc, e.layers = inc, make([]*overlay, 0, maxMemtables)
	for _, table := range t.all() {
		e.layers = append(e.layers, &table.elements)
		if w := table.tails[inc]; w != nil && w.complete {
			return e, true
		}
	}
	return e, false
}

// Hold makes e and its head, which were found in memory under mu, valid beyond it: the
// active memtable goes on from a copy of what was shared.
func (t *Tables) Hold(e *Elements, h *Head) {
	t.copying.Lock()
	e.layers[0] = e.layers[0].IsoCopy()
	h.gaps = h.gaps.Copied()
	t.copying.Unlock()
}

// HoldEdits makes the edits of v, which was found in memory under mu, valid beyond it:
// the active memtable goes on from a copy of what was shared.
func (t *Tables) HoldEdits(v *View) {
	if e := v.layers[2].edits; e != nil {
		t.copying.Lock()
		v.layers[2].edits = e.IsoCopy()
		t.copying.Unlock()
	}
}

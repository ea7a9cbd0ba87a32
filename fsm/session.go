package fsm

import (
	"fmt"
	"math"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/turn"
)

// storeTx returns the transaction that reads the store while mu is held.
func (m *Machine) storeTx() (*store.Reading, error) {
	if m.tx == nil {
		tx, err := m.store.Read()
		if err != nil {
			return nil, fmt.Errorf("read the state: %w", err)
		}
		m.tx = tx
	}
	return m.tx, nil
}

func (m *Machine) closeTx() {
	if m.tx != nil {
		m.tx.End()
		m.tx = nil
	}
}

// maxMemtables is how many memtables there are at most: an active, a frozen and a warm one.
const maxMemtables = 3

// memtables returns those that are in memory, newest first.
func (m *Machine) memtables() []*memtable {
	ts := append(make([]*memtable, 0, maxMemtables), m.active)
	for _, t := range [...]*memtable{m.frozen, m.warm} {
		if t != nil {
			ts = append(ts, t)
		}
	}
	return ts
}

// headIn finds a session's head in memory; known tells whether memory decides.
// The head must not be changed: own it first.
func (m *Machine) headIn(key string) (h *head, known bool) {
	h, known = m.active.heads[key]
	if !known && m.frozen != nil {
		h, known = m.frozen.heads[key]
	}
	if !known && m.warm != nil {
		h, known = m.warm.heads[key]
	}
	return h, known
}

// storedHead reads a head from the store, nil if there is none.
func storedHead(tx *store.Reading, key string) (*head, error) {
	b, err := tx.Get(layout.BucketHeads, []byte(key))
	if b == nil || err != nil {
		return nil, err
	}
	return openHead([]byte(key), b)
}

// stored returns the head of a key, expired or not, nil if there is none. Only
// for use in Apply.
func (m *Machine) stored(key string) (*head, error) {
	if h, known := m.headIn(key); known {
		return h, nil
	}
	tx, err := m.storeTx()
	if err != nil {
		return nil, err
	}
	return storedHead(tx, key)
}

// find returns the head of an existing key, whatever its type, nil if there is
// none. One whose time has come is deleted now, whether or not its turn in the
// due index has come. Only for use in Apply.
func (m *Machine) find(key string) (*head, error) {
	h, err := m.stored(key)
	if h != nil && h.Expired(m.meta.Clock) {
		m.remove(key, h)
		return nil, nil
	}
	return h, err
}

// session is find for an operation on sessions.
func (m *Machine) session(key string) (*head, error) {
	h, err := m.find(key)
	if err != nil {
		return nil, err
	}
	return h, checkType(h, turn.TypeList)
}

// checkType holds an operation on a type against what a key holds.
func checkType(h *head, want turn.Type) error {
	if h == nil || h.Type == want {
		return nil
	}
	return turn.Errorf(turn.WrongType, "the key holds a %s, not a %s", h.Type, want)
}

// own returns the head as part of the active memtable, to be changed.
func (m *Machine) own(key string, h *head) *head {
	if h.in == m.active {
		return h
	}
	mine := *h
	m.active.setHead(key, &mine)
	return &mine
}

// changed gives a changed session its new revision.
func (m *Machine) changed(key string, h *head) {
	h.Revision, h.Updated = m.advance(key), m.meta.Clock
	m.watches.notify(key)
}

// create makes an empty session.
func (m *Machine) create(key string) (*head, error) {
	until, err := m.latestTombstone(key)
	if err != nil {
		return nil, err
	}
	h := m.begin(key, turn.TypeList)
	h.TombstonesUntil = until
	return h, nil
}

// begin makes a value without elements under a key that holds nothing.
func (m *Machine) begin(key string, typ turn.Type) *head {
	m.meta.LastInc++
	h := &head{Head: layout.Head{Inc: m.meta.LastInc, Type: typ, Created: m.meta.Clock}}
	m.active.setHead(key, h)
	m.keyGaps.Cut(key)
	m.active.tailOf(h).complete = true
	return h
}

// expected is session for an operation under a condition.
func (m *Machine) expected(key string, expect *uint64) (*head, error) {
	h, err := m.session(key)
	if err != nil {
		return nil, err
	}
	return h, checkExpect(expect, h)
}

// checkExpect holds a condition against the session's revision.
func checkExpect(expect *uint64, h *head) error {
	if expect == nil {
		return nil
	}
	current := uint64(0)
	if h != nil {
		current = h.Revision
	}
	if *expect == current {
		return nil
	}
	e := turn.Errorf(turn.Conflict, "the session's revision is %d, not %d", current, *expect)
	switch {
	case current == 0:
		e = turn.Errorf(turn.Conflict, "the session does not exist, its expected revision was %d", *expect)
	case *expect == 0:
		e = turn.Errorf(turn.Conflict, "the session exists, its revision is %d", current)
	}
	e.Revision = current
	return e
}

// viewOf returns a session's messages as of now. Without tx it sees only what
// is in memory. The caller holds mu, at least for reading.
func (m *Machine) viewOf(h *head, tx *store.Reading) view {
	v := m.ids(h.Inc, tx)
	v.low, v.high = h.Floors(), h.High
	return v
}

// ids is viewOf for an incarnation of which only ids matter, not what is live.
func (m *Machine) ids(inc uint64, tx *store.Reading) view {
	v := view{inc: inc, tx: tx}
	if m.warm != nil {
		v.layers[0] = m.warm.layer(inc)
	}
	if m.frozen != nil {
		v.layers[1] = m.frozen.layer(inc)
	}
	v.layers[2] = m.active.layer(inc)
	v.edited = v.layers[0].edits != nil || v.layers[1].edits != nil || v.layers[2].edits != nil
	return v
}

func (t *memtable) layer(inc uint64) layer {
	w := t.tails[inc]
	if w == nil {
		return layer{}
	}
	l := layer{records: w.records, removed: w.removed, complete: w.complete}
	if w.edits.Len() > 0 {
		l.edits = &w.edits
	}
	return l
}

// view returns a session's messages, store included. Only for use in Apply.
func (m *Machine) view(h *head) (view, error) {
	v := m.viewOf(h, nil)
	v.gaps, v.learned, v.counts, v.most = h.gaps, &h.gaps, true, math.MaxUint64
	if v.complete() {
		return v, nil
	}
	tx, err := m.storeTx()
	v.tx = tx
	return v, err
}

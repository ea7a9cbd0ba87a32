package fsm

import (
	"sync"

	"github.com/turnlog/turnlog/fsm/internal/keyspace"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/fsm/internal/queries"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/turn"
)

// access is how queries get at the state from any goroutine, at any time.
type access struct{ *Machine }

// ReadBytes returns how many bytes of payload an answer may have.
func (a access) ReadBytes() int { return a.cfg.ReadBytes }

// ReadMessages returns how many messages an answer may have.
func (a access) ReadMessages() int { return turn.Limits{ReadBytes: a.cfg.ReadBytes}.ReadMessages() }

// AnswerBytes returns what an answer may count for in all.
func (a access) AnswerBytes() int { return turn.Limits{ReadBytes: a.cfg.ReadBytes}.AnswerBytes() }

// Search lets any query search: it holds up others for a bounded time only.
func (a access) Search() error { return nil }

// PassedKeys counts nothing: only entries have an allowance.
func (a access) PassedKeys(uint64) {}

// Spent counts nothing either.
func (a access) Spent(uint64) {}

// maxUnsorted is how many keys a walk may have to sort while the state is locked.
const maxUnsorted = 1_000

// stopped refuses queries of a machine that failed or is halted. The caller holds mu.
func (m *Machine) stopped() error {
	if m.failed == nil {
		return m.usable()
	}
	return turn.Errorf(turn.Unavailable, "the node has stopped: %v", m.failed)
}

// Session lets fn, unless it is nil, read the messages of a session; without fn
// the key may be of any type. It holds mu only while it takes its view. enough
// tells of a view without the store whether fn needs no more.
func (a access) Session(
	k turn.Key, r *turn.Result,
	enough func(*memtable.Head, *memtable.View) bool, fn func(*memtable.Head, *memtable.View) error,
) error {
	m, key := a.Machine, layout.JoinKey(k)
	since := m.mu.share()
	if err := m.stopped(); err != nil {
		m.mu.unshare(since)
		return err
	}
	m.keys.Stamp(r)
	h, known := m.keys.Tables.Head(key)
	if known && (h == nil || h.Expired(r.Time)) {
		m.mu.unshare(since)
		return nil
	}
	var v memtable.View
	if known {
		v = m.keys.Tables.View(h, nil)
	}
	if !known || fn != nil && !v.Complete() && !enough(h, &v) {
		tx, err := m.store.Read()
		if err != nil {
			m.mu.unshare(since)
			return err
		}
		defer tx.End()
		v.Tx = tx
	}
	var mine memtable.Head
	if known {
		m.keys.Tables.HoldEdits(&v)
		mine = *h // the one in the memtable changes once mu is released
	}
	m.mu.unshare(since)
	if !known {
		// Memory holds nothing of the key: it is in the store alone, as of now.
		stored, err := memtable.StoredHead(v.Tx, key)
		if stored == nil || err != nil || stored.Expired(r.Time) {
			return err
		}
		mine, v = *stored, memtable.StoredView(stored, v.Tx)
	}
	return queries.ReadSession(&mine, &v, k, r, fn)
}

// Value lets fn read the elements of a key of another type. It holds mu while they
// are looked up by name in memory; for ranges, and to read the store, it has
// the active memtable go on from a copy. fn may be called twice.
func (a access) Value(
	k turn.Key, typ turn.Type, mode queries.LookupMode, r *turn.Result, fn func(*memtable.Elements) error,
) error {
	m, key := a.Machine, layout.JoinKey(k)
	since := m.mu.share()
	if err := m.stopped(); err != nil {
		m.mu.unshare(since)
		return err
	}
	m.keys.Stamp(r)
	h, known := m.keys.Tables.Head(key)
	if !known {
		tx, err := m.store.Read()
		m.mu.unshare(since)
		if err != nil {
			return err
		}
		defer tx.End()
		// Memory holds nothing of the key: it is in the store alone, as of now.
		if h, err = memtable.StoredHead(tx, key); err != nil {
			return err
		}
		return queries.ReadValue(h, &memtable.Elements{Tx: tx}, k, typ, r, fn)
	}
	e, whole := memtable.Elements{}, true
	if h != nil {
		e, whole = m.keys.Tables.Elements(h.Inc)
	}
	e.Partial = !whole
	if h == nil || mode == queries.ByName {
		if err := queries.ReadValue(h, &e, k, typ, r, fn); err != nil || !e.Missed {
			m.mu.unshare(since)
			return err
		}
	}
	mine := *h // the one in the memtable changes once mu is released
	if !whole {
		tx, err := m.store.Read()
		if err != nil {
			m.mu.unshare(since)
			return err
		}
		defer tx.End()
		e.Tx = tx
	}
	m.keys.Tables.Hold(&e, &mine)
	m.mu.unshare(since)
	return queries.ReadValue(&mine, &e, k, typ, r, fn)
}

// EachPart lets fn read the keys, part by part, until it is done: mu is held for one part at
// a time. What r tells of the state is true of the first part; later ones are as of then
// or later.
func (a access) EachPart(r *turn.Result, fn func(ks *keyspace.Keys, tx *store.Reading) (done bool, err error)) error {
	m := a.Machine
	m.settleOrders()
	for first := true; ; first = false {
		if done, err := m.someKeys(r, first, fn); done || err != nil {
			return err
		}
	}
}

// Moment lets fn read the keys of one moment. It holds mu until fn calls free, or returns.
func (a access) Moment(r *turn.Result, fn func(ks *keyspace.Keys, tx *store.Reading, free func()) error) error {
	m := a.Machine
	since := m.mu.share()
	free := sync.OnceFunc(func() { m.mu.unshare(since) })
	defer free()
	if err := m.stopped(); err != nil {
		return err
	}
	m.keys.Stamp(r)
	tx, err := m.store.Read()
	if err != nil {
		return err
	}
	defer tx.End()
	return fn(m.keys, tx, free)
}

// someKeys lets fn read one part of the keys.
func (m *Machine) someKeys(
	r *turn.Result, first bool, fn func(ks *keyspace.Keys, tx *store.Reading) (done bool, err error),
) (bool, error) {
	defer m.mu.unshare(m.mu.share())
	if err := m.stopped(); err != nil {
		return false, err
	}
	if first {
		m.keys.Stamp(r)
	}
	tx, err := m.store.Read()
	if err != nil {
		return false, err
	}
	defer tx.End()
	return fn(m.keys, tx)
}

// settleOrders sorts the keys of all memtables without holding the state for it, so that a
// walk through them has few left to sort. The caller does not hold mu.
func (m *Machine) settleOrders() {
	for range 8 { // entries that are applied at the same time add some, ever fewer
		m.mu.RLock()
		sorts := m.keys.Tables.Settling(maxUnsorted)
		m.mu.RUnlock()
		if len(sorts) == 0 {
			return
		}
		for _, sort := range sorts {
			sort()
		}
	}
}

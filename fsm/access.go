package fsm

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/turn"
)

// access is how a query gets at the state. Its methods say in r which state that
// is; those for one key describe it there, and call fn only if it exists.
type access struct {
	*Machine
	// within: in the midst of Apply, which holds mu. Otherwise from any goroutine,
	// at any time.
	within bool
}

// readBytes returns how many bytes an answer may have. In a transaction that is the same on
// every node, whatever its configuration: what queries pass and answer with is taken off the
// allowance, and so decides what becomes of the operations behind them.
func (a access) readBytes() int {
	if a.within {
		return turn.DefaultLimits().ReadBytes
	}
	return a.cfg.ReadBytes
}

// maxUnsorted is how many keys a walk may have to sort while the state is locked.
const maxUnsorted = 1_000

// lookupMode tells how much is read of a value.
type lookupMode uint8

const (
	byName lookupMode = iota // a few elements
	ranges                   // ranges of elements, or many
)

// maxByName is how many elements are looked up by name while Apply waits.
const maxByName = 64

// stopped refuses queries of a machine that failed or is halted. The caller holds mu.
func (m *Machine) stopped() error {
	if m.failed == nil {
		return m.usable()
	}
	return turn.Errorf(turn.Unavailable, "the node has stopped: %v", m.failed)
}

// session lets fn, unless it is nil, read the messages of a session; without fn
// the key may be of any type. It holds mu only while it takes its view. enough
// tells of a view without the store whether fn needs no more.
func (a access) session(
	k turn.Key, r *turn.Result,
	enough func(*memtable.Head, *memtable.View) bool, fn func(*memtable.Head, *memtable.View) error,
) error {
	m, key := a.Machine, layout.JoinKey(k)
	if a.within {
		return m.keys.sessionWithin(k, r, fn)
	}
	since := m.mu.share()
	if err := m.stopped(); err != nil {
		m.mu.unshare(since)
		return err
	}
	m.keys.stamp(r)
	h, known := m.keys.tables.Head(key)
	if known && (h == nil || h.Expired(r.Time)) {
		m.mu.unshare(since)
		return nil
	}
	var v memtable.View
	if known {
		v = m.keys.tables.View(h, nil)
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
		m.keys.tables.HoldEdits(&v)
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
	return readSession(&mine, &v, k, r, fn)
}

func readSession(
	h *memtable.Head, v *memtable.View, k turn.Key, r *turn.Result, fn func(*memtable.Head, *memtable.View) error,
) error {
	describe(h, k, r)
	if fn == nil {
		return nil
	}
	if err := h.CheckType(turn.TypeList); err != nil {
		return err
	}
	return fn(h, v)
}

// value lets fn read the elements of a key of another type. It holds mu while they
// are looked up by name in memory; for ranges, and to read the store, it has
// the active memtable go on from a copy. fn may be called twice.
func (a access) value(
	k turn.Key, typ turn.Type, mode lookupMode, r *turn.Result, fn func(*memtable.Elements) error,
) error {
	if a.within {
		return a.keys.valueWithin(k, typ, r, fn)
	}
	m, key := a.Machine, layout.JoinKey(k)
	since := m.mu.share()
	if err := m.stopped(); err != nil {
		m.mu.unshare(since)
		return err
	}
	m.keys.stamp(r)
	h, known := m.keys.tables.Head(key)
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
		return readValue(h, &memtable.Elements{Tx: tx}, k, typ, r, fn)
	}
	e, whole := memtable.Elements{}, true
	if h != nil {
		e, whole = m.keys.tables.Elements(h.Inc)
	}
	e.Partial = !whole
	if h == nil || mode == byName {
		if err := readValue(h, &e, k, typ, r, fn); err != nil || !e.Missed {
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
	m.keys.tables.Hold(&e, &mine)
	m.mu.unshare(since)
	return readValue(&mine, &e, k, typ, r, fn)
}

// readValue has fn read the elements of h, which may be nil, as of the state that r tells.
func readValue(
	h *memtable.Head, e *memtable.Elements, k turn.Key, typ turn.Type, r *turn.Result,
	fn func(*memtable.Elements) error,
) error {
	if !h.Held() || h.Expired(r.Time) {
		return nil
	}
	if err := h.CheckType(typ); err != nil {
		return err
	}
	describe(h, k, r)
	e.Of(h)
	return fn(e)
}

// eachPart lets fn read the keys, part by part, until it is done: mu is held for one part at
// a time. What r tells of the state is true of the first part; later ones are as of then
// or later.
func (a access) eachPart(r *turn.Result, fn func(tx *store.Reading) (done bool, err error)) error {
	m := a.Machine
	if a.within {
		m.keys.stamp(r)
		tx, err := m.keys.storeTx()
		for done := false; err == nil && !done; {
			done, err = fn(tx)
		}
		return err
	}
	m.settleOrders()
	for first := true; ; first = false {
		if done, err := m.someKeys(r, first, fn); done || err != nil {
			return err
		}
	}
}

func (m *Machine) someKeys(
	r *turn.Result, first bool, fn func(tx *store.Reading) (done bool, err error),
) (bool, error) {
	defer m.mu.unshare(m.mu.share())
	if err := m.stopped(); err != nil {
		return false, err
	}
	if first {
		m.keys.stamp(r)
	}
	tx, err := m.store.Read()
	if err != nil {
		return false, err
	}
	defer tx.End()
	return fn(tx)
}

// settleOrders sorts the keys of all memtables without holding the state for it, so that a
// walk through them has few left to sort. The caller does not hold mu.
func (m *Machine) settleOrders() {
	for range 8 { // entries that are applied at the same time add some, ever fewer
		m.mu.RLock()
		sorts := m.keys.tables.Settling(maxUnsorted)
		m.mu.RUnlock()
		if len(sorts) == 0 {
			return
		}
		for _, sort := range sorts {
			sort()
		}
	}
}

package fsm

import (
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

// stay tells how much is read of a value.
type stay uint8

const (
	brief stay = iota // elements by name
	long              // ranges of elements
)

// stamp says which state the answer is from. The caller holds mu.
func (m *Machine) stamp(r *turn.Result) { r.Index, r.Time = m.meta.index, m.meta.clock }

// describeIn tells of a key in r.
func (h *head) describeIn(k turn.Key, r *turn.Result) {
	r.Session = h.describe(k)
	r.Revision, r.Count = h.revision, h.count()
	r.First, r.Last = h.first, h.last
}

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
func (a access) session(k turn.Key, r *turn.Result, enough func(*head, *view) bool, fn func(*head, *view) error) error {
	m, key := a.Machine, joinKey(k)
	if a.within {
		return m.sessionWithin(k, r, fn)
	}
	m.mu.RLock()
	if err := m.stopped(); err != nil {
		m.mu.RUnlock()
		return err
	}
	m.stamp(r)
	h, known := m.headIn(key)
	var v view
	needsStore := !known
	if h != nil {
		v = m.viewOf(h, nil)
		needsStore = fn != nil && !v.complete() && !enough(h, &v)
	}
	if needsStore {
		tx, err := m.reading()
		if err != nil {
			m.mu.RUnlock()
			return err
		}
		defer tx.end()
		if !known {
			if h, err = storedHead(tx, key); err != nil {
				m.mu.RUnlock()
				return err
			}
			if h != nil {
				v = m.viewOf(h, nil)
			}
		}
		v.tx = tx
	}
	if h == nil || h.expired(m.meta.clock) {
		m.mu.RUnlock()
		return nil
	}
	m.holdEdits(&v)
	mine := *h // the one in the table changes once mu is released
	m.mu.RUnlock()

	mine.describeIn(k, r)
	if fn == nil {
		return nil
	}
	if err := checkType(&mine, turn.TypeList); err != nil {
		return err
	}
	return fn(&mine, &v)
}

// value lets fn read the elements of a key of another type. It holds mu while they
// are looked up by name; for a longer stay it has the active table go on from a
// copy.
func (a access) value(k turn.Key, typ turn.Type, s stay, r *turn.Result, fn func(*elements) error) error {
	if a.within {
		return a.valueWithin(k, typ, r, fn)
	}
	e, release, err := a.find(k, typ, s, r)
	defer release()
	if err != nil || r.Session == nil {
		return err
	}
	return fn(&e)
}

// find finds the elements of a key, and describes it in r if it exists.
func (a access) find(k turn.Key, typ turn.Type, s stay, r *turn.Result) (e elements, release func(), err error) {
	m, key := a.Machine, joinKey(k)
	m.mu.RLock()
	release = m.mu.RUnlock
	if err := m.stopped(); err != nil {
		return e, release, err
	}
	m.stamp(r)
	h, known := m.headIn(key)
	whole := false
	if h != nil {
		e, whole = m.elementsIn(h.inc)
	}
	if !known || h != nil && !whole {
		tx, err := m.reading()
		if err != nil {
			return e, release, err
		}
		release = func() {
			m.mu.RUnlock()
			tx.end()
		}
		if !known {
			if h, err = storedHead(tx, key); h == nil || err != nil {
				return e, release, err
			}
			e, _ = m.elementsIn(h.inc)
		}
		e.tx = tx
	}
	if !h.held() || h.expired(m.meta.clock) {
		return e, release, nil
	}
	if err := checkType(h, typ); err != nil {
		return e, release, err
	}
	h.describeIn(k, r)
	if s == long {
		m.hold(&e)
		m.mu.RUnlock()
		tx := e.tx
		release = func() {
			if tx != nil {
				tx.end()
			}
		}
	}
	return e, release, nil
}

// whole lets fn read what belongs to no single key.
func (a access) whole(r *turn.Result, fn func(*reading) error) error {
	m := a.Machine
	if a.within {
		m.stamp(r)
		tx, err := m.storeTx()
		if err != nil {
			return err
		}
		return fn(tx)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.stopped(); err != nil {
		return err
	}
	m.stamp(r)
	tx, err := m.reading()
	if err != nil {
		return err
	}
	defer tx.end()
	return fn(tx)
}

// within returns the head of a key, nil if there is none, for a query in the
// midst of Apply: one whose time has come is left for others to delete.
func (m *Machine) within(k turn.Key, r *turn.Result) (*head, error) {
	m.stamp(r)
	h, err := m.stored(joinKey(k))
	if h == nil || err != nil || h.expired(m.meta.clock) {
		return nil, err
	}
	return h, nil
}

func (m *Machine) sessionWithin(k turn.Key, r *turn.Result, fn func(*head, *view) error) error {
	h, err := m.within(k, r)
	if h == nil || err != nil {
		return err
	}
	h.describeIn(k, r)
	if fn == nil {
		return nil
	}
	if err := checkType(h, turn.TypeList); err != nil {
		return err
	}
	v, err := m.view(h)
	if err != nil {
		return err
	}
	return fn(h, &v)
}

func (m *Machine) valueWithin(k turn.Key, typ turn.Type, r *turn.Result, fn func(*elements) error) error {
	h, err := m.within(k, r)
	if err != nil || !h.held() {
		return err
	}
	if err := checkType(h, typ); err != nil {
		return err
	}
	e, err := m.elements(h)
	if err != nil {
		return err
	}
	h.describeIn(k, r)
	return fn(&e)
}

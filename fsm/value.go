package fsm

import (
	"strconv"

	"github.com/turnlog/turnlog/turn"
)

// value is find for an operation on a type other than lists, to which an empty
// session is nothing.
func (m *Machine) value(key string, typ turn.Type) (*head, error) {
	h, err := m.find(key)
	if err != nil || !h.held() {
		return nil, err
	}
	return h, checkType(h, typ)
}

// ownValue returns the head that value found, to be changed; if it found none, a
// new one.
func (m *Machine) ownValue(key string, h *head, typ turn.Type) (*head, error) {
	if h != nil {
		return m.own(key, h), nil
	}
	empty, err := m.find(key)
	if err != nil {
		return nil, err
	}
	if empty != nil {
		m.remove(key, empty)
	}
	return m.begin(key, typ), nil
}

// put gives an element of an owned head a value, which nobody may write to again.
// old is its value before, if it had one.
func (m *Machine) put(h *head, name string, value, old []byte, had bool) {
	if !had {
		h.live[0]++
		h.bytes += uint64(len(name))
	}
	h.bytes += uint64(len(value)) - uint64(len(old))
	m.setElementOf(h, name, value)
}

// setElementOf gives an element of an owned head a value in the active table.
func (m *Machine) setElementOf(h *head, name string, value []byte) {
	if h.gaps != nil {
		h.gaps.cut(elementKey(h.inc, name))
	}
	m.active.setElement(h.inc, name, change{value: value})
}

// removeElementOf removes one that is there.
func (m *Machine) removeElementOf(h *head, name string) {
	m.active.setElement(h.inc, name, change{gone: true})
	m.noteGap(h, name)
}

// take removes an element, whose value is old, from an owned head.
func (m *Machine) take(h *head, name string, old []byte) {
	h.live[0]--
	h.bytes -= uint64(len(name) + len(old))
	m.removeElementOf(h, name)
}

// settleValue finishes an operation on the elements of an owned head, which held
// something before or did not.
func (m *Machine) settleValue(key string, h *head, before bool, r *turn.Result) {
	r.Count = h.count()
	m.count(key, before, h.held())
	if !h.held() {
		m.remove(key, h)
		r.Revision = m.revision(key)
		return
	}
	m.changed(key, h)
	r.Revision = h.revision
}

// parseInt reads an integer as Redis does: in the one form that it would write.
func parseInt(b []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(b), 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == string(b)
}

// addInt adds to the integer that an element holds, 0 if it holds none.
func addInt(old []byte, had bool, delta int64, what string) (int64, error) {
	n := int64(0)
	if had {
		var ok bool
		if n, ok = parseInt(old); !ok {
			return 0, turn.Errorf(turn.Invalid, "%s", what)
		}
	}
	sum := n + delta
	if (sum > n) != (delta > 0) && delta != 0 {
		return 0, turn.Errorf(turn.Invalid, "increment or decrement would overflow")
	}
	return sum, nil
}

func formatInt(n int64) []byte { return strconv.AppendInt(nil, n, 10) }

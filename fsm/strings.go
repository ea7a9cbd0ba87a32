package fsm

import (
	"bytes"

	"github.com/turnlog/turnlog/turn"
)

func (m *Machine) setString(o *turn.SetString, r *turn.Result) error {
	key := joinKey(o.Key)
	h, err := m.find(key)
	if err != nil {
		return err
	}
	held := h.held()
	var old []byte
	if held && h.typ == turn.TypeString {
		e, err := m.elements(h)
		if err != nil {
			return err
		}
		if old, _, err = e.get(""); err != nil {
			return err
		}
	}
	if o.Get && held {
		if err := checkType(h, turn.TypeString); err != nil {
			return err
		}
		if err := m.spend(uint64(len(old))); err != nil {
			return err
		}
		r.Value, r.Found = old, true
	}
	if held {
		r.Revision = h.revision
	}
	if o.If == turn.SetIfAbsent && held || o.If == turn.SetIfPresent && !held {
		return nil
	}
	r.Count = 1
	m.overwrite(key, h, old, o)
	r.Revision = m.revision(key)
	return nil
}

// overwrite makes a key hold a string. h is what it holds; if that is a string,
// it is old.
func (m *Machine) overwrite(key string, h *head, old []byte, o *turn.SetString) {
	deadline := o.At
	switch {
	case o.TTL > 0:
		deadline = m.after(o.TTL)
	case o.KeepTTL && h.held():
		deadline = h.deadline
	}
	passed := deadline != 0 && deadline <= m.meta.clock
	same := h != nil && h.typ == turn.TypeString
	if h != nil && (passed || !same) {
		m.remove(key, h)
	}
	if passed {
		return
	}
	if same {
		h = m.own(key, h)
	} else {
		h = m.begin(key, turn.TypeString)
	}
	m.put(h, "", bytes.Clone(o.Value), old, same)
	m.count(key, same, true)
	m.setDeadline(key, h, deadline, 0)
	m.changed(key, h)
}

func (m *Machine) addInt(o *turn.AddInt, r *turn.Result) error {
	key := joinKey(o.Key)
	h, err := m.value(key, turn.TypeString)
	if err != nil {
		return err
	}
	var old []byte
	if h != nil {
		e, err := m.elements(h)
		if err != nil {
			return err
		}
		if old, _, err = e.get(""); err != nil {
			return err
		}
	}
	had := h != nil
	if r.Number, err = addInt(old, had, o.Delta, "value is not an integer or out of range"); err != nil {
		return err
	}
	if h, err = m.ownValue(key, h, turn.TypeString); err != nil {
		return err
	}
	m.put(h, "", formatInt(r.Number), old, had)
	m.settleValue(key, h, had, r)
	return nil
}

func getString(e *elements, r *turn.Result) (err error) {
	r.Value, r.Found, err = e.get("")
	return err
}

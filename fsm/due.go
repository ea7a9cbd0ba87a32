package fsm

import (
	"math"

	"github.com/turnlog/turnlog/turn"
)

// after returns the cluster time in so many milliseconds. One that no number holds is the
// highest there is; below turn.Level1 it wraps and so has passed, as it did for the
// versions that may be among the members.
func (m *Machine) after(ms int64) int64 {
	then := m.meta.clock + ms
	if ms > 0 && then < m.meta.clock && m.level() >= turn.Level1 {
		return math.MaxInt64
	}
	return then
}

// setDeadline changes the deadline of an owned head; 0 removes it.
func (m *Machine) setDeadline(key string, h *head, deadline, slide int64) {
	h.deadline, h.slide = deadline, slide
	if deadline != 0 && (h.armed == 0 || deadline < h.armed) {
		m.arm(key, h)
	}
}

func (m *Machine) arm(key string, h *head) {
	h.armed = h.deadline
	m.active.arm(h.deadline, key)
	if m.nextDue == 0 || h.deadline < m.nextDue {
		m.nextDue = h.deadline
	}
}

// expireDue deals with up to limit entries of the due index whose time has come.
func (m *Machine) expireDue(limit int) error {
	if m.nextDue == 0 || m.nextDue > m.meta.clock {
		return nil
	}
	entry, err := m.firstDueKey()
	if err != nil {
		return err
	}
	for ; entry != "" && limit > 0; limit-- {
		deadline, key := splitDueKey(entry)
		if deadline > m.meta.clock {
			break
		}
		m.meta.dueFloor = entry
		h, err := m.stored(key)
		if err != nil {
			return err
		}
		// An entry that is not the one under which the session is armed is left
		// over from a sooner or former deadline.
		if h != nil && h.armed == deadline {
			m.fallDue(key, h)
		}
		if entry, err = m.firstDueKey(); err != nil {
			return err
		}
	}
	m.nextDue = 0
	if entry != "" {
		m.nextDue, _ = splitDueKey(entry)
	}
	return nil
}

func (m *Machine) fallDue(key string, h *head) {
	if h.expired(m.meta.clock) {
		m.remove(key, h)
		return
	}
	h = m.own(key, h)
	h.armed = 0
	if h.deadline != 0 {
		m.arm(key, h)
	}
}

// firstDue returns the earliest deadline in the due index, 0 if it is empty.
func (m *Machine) firstDue() (int64, error) {
	key, err := m.firstDueKey()
	if key == "" || err != nil {
		return 0, err
	}
	deadline, _ := splitDueKey(key)
	return deadline, nil
}

func (m *Machine) firstDueKey() (first string, err error) {
	tx, err := m.storeTx()
	if err != nil {
		return "", err
	}
	floor := m.meta.dueFloor
	c := tx.Bucket(bucketDue).Cursor()
	k, v := c.Seek([]byte(floor))
	if k != nil && string(k) == floor {
		k, v = c.Next()
	}
	if k != nil {
		if _, err := dumped(bucketDue, k, v); err != nil {
			return "", err
		}
	}
	first = string(k)
	for _, t := range m.tables() {
		t.due.Ascend(floor, func(k string) bool {
			if k == floor {
				return true
			}
			if first == "" || k < first {
				first = k
			}
			return false
		})
	}
	return first, nil
}

func (m *Machine) expire(o *turn.Expire, r *turn.Result) error {
	key := joinKey(o.Key)
	h, err := m.find(key)
	if err != nil {
		return err
	}
	if o.Slide {
		if err := checkType(h, turn.TypeList); err != nil {
			return err
		}
	}
	if err := checkExpect(o.Expect, h); err != nil {
		return err
	}
	if h == nil || (o.List && !h.held()) {
		return nil
	}
	r.Revision = h.revision
	deadline := o.At
	if o.HasTTL {
		deadline = m.after(o.TTL)
	}
	removes := !o.HasTTL && !o.HasAt
	if removes && h.deadline == 0 || !allows(o.If, h.deadline, deadline) {
		return nil
	}
	r.Removed = 1
	if !removes && deadline <= m.meta.clock {
		m.remove(key, h)
		r.Revision = m.revision(key)
		return nil
	}
	h = m.own(key, h)
	switch {
	case removes:
		m.setDeadline(key, h, 0, 0)
	case o.Slide:
		m.setDeadline(key, h, deadline, o.TTL)
	default:
		m.setDeadline(key, h, deadline, 0)
	}
	m.changed(key, h)
	r.Revision = h.revision
	return nil
}

// allows holds a new deadline against the condition and the current one, of
// which 0, none, counts as infinitely late.
func allows(cond turn.ExpireIf, current, deadline int64) bool {
	switch cond {
	case turn.IfNone:
		return current == 0
	case turn.IfSome:
		return current != 0
	case turn.IfLater:
		return current != 0 && deadline > current
	case turn.IfSooner:
		return current == 0 || deadline < current
	case turn.IfSomeSooner:
		return current != 0 && deadline < current
	}
	return true
}

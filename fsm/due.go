package fsm

import (
	"math"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

// now returns the cluster time. Only for use in Apply.
func (m *Machine) now() int64 { return m.meta.Clock }

// after returns the cluster time in so many milliseconds. One that no number holds is the
// highest there is.
func (m *Machine) after(ms int64) int64 {
	then := m.meta.Clock + ms
	if ms > 0 && then < m.meta.Clock {
		return math.MaxInt64
	}
	return then
}

// setDeadline changes the deadline of an owned head; 0 removes it.
func (m *Machine) setDeadline(key string, h *memtable.Head, deadline, slide int64) {
	h.Deadline, h.Slide = deadline, slide
	if deadline != 0 && (h.Scheduled == 0 || deadline < h.Scheduled) {
		m.scheduleExpiry(key, h)
	}
}

func (m *Machine) scheduleExpiry(key string, h *memtable.Head) {
	h.Scheduled = h.Deadline
	m.tables.Active.ScheduleExpiry(h.Deadline, key)
	if m.nextDue == 0 || h.Deadline < m.nextDue {
		m.nextDue = h.Deadline
	}
}

// expireDue deals with up to limit entries of the due index whose time has come.
func (m *Machine) expireDue(limit int) error {
	if m.nextDue == 0 || m.nextDue > m.meta.Clock {
		return nil
	}
	tx, err := m.storeTx()
	if err != nil {
		return err
	}
	it := m.tables.Due(tx, m.meta.DueFloor)
	entry, err := it.Entry()
	for ; entry != "" && err == nil && limit > 0; limit-- {
		deadline, key := layout.SplitDueKey(entry)
		if deadline > m.meta.Clock {
			break
		}
		m.meta.DueFloor = entry
		var rescheduled bool
		if rescheduled, err = m.expireOrReschedule(deadline, key); err != nil {
			return err
		}
		if rescheduled { // the index has changed
			it.Seek(layout.AfterKey(entry))
		}
		entry, err = it.Entry()
	}
	if err != nil {
		return err
	}
	m.nextDue = 0
	if entry != "" {
		m.nextDue, _ = layout.SplitDueKey(entry)
	}
	return nil
}

// expireOrReschedule deals with an entry of the due index whose time has come: it deletes the
// key, or, if its deadline has moved, schedules it again, and reports that.
func (m *Machine) expireOrReschedule(deadline int64, key string) (rescheduled bool, err error) {
	h, err := m.stored(key)
	// An entry other than the one under which the key is scheduled is left over from a
	// sooner or former deadline.
	if h == nil || err != nil || h.Scheduled != deadline {
		return false, err
	}
	if h.Expired(m.meta.Clock) {
		m.remove(key, h)
		return false, nil
	}
	h = m.own(key, h)
	h.Scheduled = 0
	if h.Deadline != 0 {
		m.scheduleExpiry(key, h)
	}
	return h.Scheduled != 0, nil
}

// firstDue returns the earliest deadline in the due index, 0 if it is empty.
func (m *Machine) firstDue() (int64, error) {
	tx, err := m.storeTx()
	if err != nil {
		return 0, err
	}
	it := m.tables.Due(tx, m.meta.DueFloor)
	entry, err := it.Entry()
	if entry == "" || err != nil {
		return 0, err
	}
	deadline, _ := layout.SplitDueKey(entry)
	return deadline, nil
}

func (m *Machine) expire(o *turn.Expire, r *turn.Result) error {
	key := layout.JoinKey(o.Key)
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
	if h == nil || (o.List && !h.Held()) {
		return nil
	}
	r.Revision = h.Revision
	deadline := o.At
	if o.HasTTL {
		deadline = m.after(o.TTL)
	}
	removes := !o.HasTTL && !o.HasAt
	if removes && h.Deadline == 0 || !allows(o.If, h.Deadline, deadline) {
		return nil
	}
	r.Removed = 1
	if !removes && deadline <= m.meta.Clock {
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
	r.Revision = h.Revision
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

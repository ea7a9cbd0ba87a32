package fsm

import (
	"math"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

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

// SetDeadline changes the deadline of an owned head; 0 removes it.
func (ks *keyspace) SetDeadline(key string, h *memtable.Head, deadline, slide int64) {
	h.Deadline, h.Slide = deadline, slide
	if deadline != 0 && (h.Scheduled == 0 || deadline < h.Scheduled) {
		ks.scheduleExpiry(key, h)
	}
}

func (ks *keyspace) scheduleExpiry(key string, h *memtable.Head) {
	h.Scheduled = h.Deadline
	ks.tables.Active.ScheduleExpiry(h.Deadline, key)
	if ks.nextDue == 0 || h.Deadline < ks.nextDue {
		ks.nextDue = h.Deadline
	}
}

// expireDue deals with up to limit entries of the due index whose time has come.
func (ks *keyspace) expireDue(limit int) error {
	if ks.nextDue == 0 || ks.nextDue > ks.meta.Clock {
		return nil
	}
	tx, err := ks.storeTx()
	if err != nil {
		return err
	}
	it := ks.tables.Due(tx, ks.meta.DueFloor)
	entry, err := it.Entry()
	for ; entry != "" && err == nil && limit > 0; limit-- {
		deadline, key := layout.SplitDueKey(entry)
		if deadline > ks.meta.Clock {
			break
		}
		ks.meta.DueFloor = entry
		var rescheduled bool
		if rescheduled, err = ks.expireOrReschedule(deadline, key); err != nil {
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
	ks.nextDue = 0
	if entry != "" {
		ks.nextDue, _ = layout.SplitDueKey(entry)
	}
	return nil
}

// expireOrReschedule deals with an entry of the due index whose time has come: it deletes the
// key, or, if its deadline has moved, schedules it again, and reports that.
func (ks *keyspace) expireOrReschedule(deadline int64, key string) (rescheduled bool, err error) {
	h, err := ks.stored(key)
	// An entry other than the one under which the key is scheduled is left over from a
	// sooner or former deadline.
	if h == nil || err != nil || h.Scheduled != deadline {
		return false, err
	}
	if h.Expired(ks.meta.Clock) {
		ks.Remove(key, h)
		return false, nil
	}
	h = ks.Own(key, h)
	h.Scheduled = 0
	if h.Deadline != 0 {
		ks.scheduleExpiry(key, h)
	}
	return h.Scheduled != 0, nil
}

// firstDue returns the earliest deadline in the due index, 0 if it is empty.
func (ks *keyspace) firstDue() (int64, error) {
	tx, err := ks.storeTx()
	if err != nil {
		return 0, err
	}
	it := ks.tables.Due(tx, ks.meta.DueFloor)
	entry, err := it.Entry()
	if entry == "" || err != nil {
		return 0, err
	}
	deadline, _ := layout.SplitDueKey(entry)
	return deadline, nil
}

func (m *Machine) expire(o *turn.Expire, r *turn.Result) error {
	key := layout.JoinKey(o.Key)
	h, err := m.keys.Find(key)
	if err != nil {
		return err
	}
	if o.Slide {
		if err := h.CheckType(turn.TypeList); err != nil {
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
		deadline = m.keys.After(o.TTL)
	}
	removes := !o.HasTTL && !o.HasAt
	if removes && h.Deadline == 0 || !allows(o.If, h.Deadline, deadline) {
		return nil
	}
	r.Removed = 1
	if !removes && deadline <= m.keys.meta.Clock {
		m.keys.Remove(key, h)
		r.Revision = m.keys.Revision(key)
		return nil
	}
	h = m.keys.Own(key, h)
	switch {
	case removes:
		m.keys.SetDeadline(key, h, 0, 0)
	case o.Slide:
		m.keys.SetDeadline(key, h, deadline, o.TTL)
	default:
		m.keys.SetDeadline(key, h, deadline, 0)
	}
	m.keys.changed(key, h)
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

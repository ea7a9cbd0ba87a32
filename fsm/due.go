package fsm

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
)

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

package keyspace

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
)

// NextDue returns the cluster time at which a key expires next, or at which it must be looked at
// again; 0 if there is none.
func (ks *Keys) NextDue() int64 { return ks.nextDue }

// SetDeadline changes the deadline of an owned head; 0 removes it.
func (ks *Keys) SetDeadline(key string, h *memtable.Head, deadline, slide int64) {
	h.Deadline, h.Slide = deadline, slide
	if deadline != 0 && (h.Scheduled == 0 || deadline < h.Scheduled) {
		ks.scheduleExpiry(key, h)
	}
}

func (ks *Keys) scheduleExpiry(key string, h *memtable.Head) {
	h.Scheduled = h.Deadline
	ks.Tables.Active.ScheduleExpiry(h.Deadline, key)
	if ks.nextDue == 0 || h.Deadline < ks.nextDue {
		ks.nextDue = h.Deadline
	}
}

// DueChunk is how many keys an entry expires at most, so that a million
// that expire at once do not hold up appends. What remains is due at once again.
const DueChunk = 256

// expireDue deals with up to limit entries of the due index whose time has come.
func (ks *Keys) expireDue(limit int) error {
	if ks.nextDue == 0 || ks.nextDue > ks.Meta.Clock {
		return nil
	}
	tx, err := ks.Reading()
	if err != nil {
		return err
	}
	it := ks.Tables.Due(tx, ks.Meta.DueFloor)
	entry, err := it.Entry()
	for ; entry != "" && err == nil && limit > 0; limit-- {
		deadline, key := layout.SplitDueKey(entry)
		if deadline > ks.Meta.Clock {
			break
		}
		ks.Meta.DueFloor = entry
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
func (ks *Keys) expireOrReschedule(deadline int64, key string) (rescheduled bool, err error) {
	h, err := ks.Head(key)
	// An entry other than the one under which the key is scheduled is left over from a
	// sooner or former deadline.
	if h == nil || err != nil || h.Scheduled != deadline {
		return false, err
	}
	if h.Expired(ks.Meta.Clock) {
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
func (ks *Keys) firstDue() (int64, error) {
	tx, err := ks.Reading()
	if err != nil {
		return 0, err
	}
	it := ks.Tables.Due(tx, ks.Meta.DueFloor)
	entry, err := it.Entry()
	if entry == "" || err != nil {
		return 0, err
	}
	deadline, _ := layout.SplitDueKey(entry)
	return deadline, nil
}

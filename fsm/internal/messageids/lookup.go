package messageids

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

// Lookup finds messages by the ids that they carried, in a session or in what was
// deleted under the same key not long ago.
type Lookup struct {
	ids *IDs
	key string
	h   *memtable.Head // nil: there is no session
	ms  []turn.NewMessage
	// tombstones and deleted are found, for all of ms, when something is not in the session.
	tombstones []layout.Tombstone
	deleted    deletedOrigins
	looked     bool
}

// Lookup begins to find messages that are about to be appended under a key; h is nil if there is no session.
func (x *IDs) Lookup(key string, h *memtable.Head, ms []turn.NewMessage) Lookup {
	return Lookup{ids: x, key: key, h: h, ms: ms}
}

// Find returns the message that carried id, the last one if it was given again. inc is 0 if there is none.
func (l *Lookup) Find(id string) (rec layout.Record, inc uint64, err error) {
	x, h := l.ids, l.h
	if h != nil {
		if rec, ok, err := x.Find(h, id); ok || err != nil {
			return rec, h.Inc, err
		}
		if h.TombstonesUntil <= x.keys.Meta.Clock {
			return layout.Record{}, 0, nil
		}
	}
	if err := l.lookAtDeleted(); err != nil {
		return layout.Record{}, 0, err
	}
	return x.lookupDeleted(l.deleted, id)
}

func (l *Lookup) lookAtDeleted() (err error) {
	if l.looked {
		return nil
	}
	if l.tombstones, err = l.ids.Tombstones(l.key); err == nil {
		l.deleted, err = l.ids.deletedOrigins(l.tombstones, l.ms)
	}
	l.looked = err == nil
	return err
}

// First returns the message that had the id of a record first, and its place: ok is false if it is no longer
// remembered. inc is the record's incarnation.
func (l *Lookup) First(rec *layout.Record, inc uint64) (first layout.Record, at layout.Place, ok bool, err error) {
	first, at = *rec, layout.Place{Inc: inc, Seq: rec.First()}
	if at.Seq != rec.Seq {
		of, ok, err := l.remembered(inc)
		if ok && err == nil {
			first, ok, err = l.ids.at(of, at.Seq)
		}
		if !ok || err != nil {
			return first, at, false, err
		}
	}
	if !first.AlsoDeleted() {
		return first, at, true, nil
	}
	if err := l.lookAtDeleted(); err != nil {
		return first, at, false, err
	}
	// The earliest one that is remembered may itself tell of one before it, which is forgotten.
	first, at, ok, err = l.ids.firstDeleted(l.deleted, rec.ID, inc)
	return first, at, ok && first.First() == first.Seq && !first.AlsoDeleted(), err
}

// remembered returns what is remembered of an incarnation of the key.
func (l *Lookup) remembered(inc uint64) (of layout.Remembered, ok bool, err error) {
	if l.h != nil && inc == l.h.Inc {
		return l.h.Remembered(), true, nil
	}
	if err := l.lookAtDeleted(); err != nil {
		return of, false, err
	}
	for i := range l.tombstones {
		if g := &l.tombstones[i]; g.Inc == inc {
			return g.Remembered(), true, nil
		}
	}
	return of, false, nil
}

// WindowStart returns the lowest seq whose id is remembered of an incarnation of the key.
func (l *Lookup) WindowStart(inc uint64) (uint64, error) {
	of, _, err := l.remembered(inc)
	return of.WindowStart(), err
}

// FirstIn returns the message that had the id of a record first in its incarnation, if that is remembered.
func (x *IDs) FirstIn(of layout.Remembered, rec *layout.Record) (first layout.Record, ok bool, err error) {
	if rec.First() == rec.Seq {
		return *rec, true, nil
	}
	return x.at(of, rec.First())
}

// at returns the message of an incarnation that came with a seq, if it is remembered.
func (x *IDs) at(of layout.Remembered, seq uint64) (rec layout.Record, ok bool, err error) {
	if seq < of.WindowStart() {
		return rec, false, nil
	}
	v, err := x.wholeIDs(of.Inc)
	if err != nil {
		return rec, false, err
	}
	return v.Find(seq)
}

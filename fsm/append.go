package fsm

import (
	"github.com/turnlog/turnlog/fsm/internal/idwindow"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

func (m *Machine) append(o *turn.Append, r *turn.Result) error {
	key := layout.JoinKey(o.Key)
	h, err := m.session(key)
	if err != nil {
		return err
	}
	if o.OnlyExisting && (h == nil || h.Count() == 0) {
		return nil
	}
	if dup, err := m.duplicate(key, h, o.Messages, r); dup || err != nil {
		return err
	}
	if err := checkExpect(o.Expect, h); err != nil {
		return err
	}
	return m.extend(key, h, o, r)
}

// extend appends messages that are new to a session; h is nil if there is none yet.
func (m *Machine) extend(key string, h *memtable.Head, o *turn.Append, r *turn.Result) (err error) {
	if h == nil {
		if h, err = m.create(key); err != nil {
			return err
		}
	}
	h = m.keys.Own(key, h)
	m.push(key, h, o.Messages, o.Side, r)
	if o.TTL > 0 {
		m.keys.SetDeadline(key, h, m.keys.After(o.TTL), h.Slide)
	} else if h.Slide > 0 {
		m.keys.SetDeadline(key, h, m.keys.After(h.Slide), h.Slide)
	}
	m.keys.changed(key, h)
	r.Revision, r.Count = h.Revision, h.Count()
	return nil
}

// push adds messages to an owned head, which is to be told as changed next.
func (m *Machine) push(key string, h *memtable.Head, ms []turn.NewMessage, side turn.Side, r *turn.Result) {
	before := h.Held()
	r.First = h.Last + 1
	revision := m.keys.Revision(key) + 1 // as advance will return
	for i := range ms {
		rec := layout.Record{Time: m.keys.meta.Clock, ID: ms[i].ID, Data: ms[i].Data, Side: side}
		if rec.ID != "" {
			rec.Revision = revision
		}
		m.place(h, rec)
		m.kept += len(rec.Data)
	}
	r.Last = h.Last
	if !before && len(ms) > 0 {
		h.First = r.First
	}
	m.keys.namespaces.count(key, before, h.Held())
}

// place appends a record, whose seq is yet to be given, to an owned head.
func (m *Machine) place(h *memtable.Head, rec layout.Record) {
	m.add(h, &rec)
	if rec.ID != "" {
		h.LastID = rec.Seq
	}
	if h.Window = m.windows.Of(h.Inc, h.Window); h.Window != nil {
		m.windows.Note(h.Window, h.Last-h.Moves.Total, rec.ID)
	}
}

// add is place for a record that is not to be known by its id.
func (m *Machine) add(h *memtable.Head, rec *layout.Record) {
	h.Last++
	rec.Seq = h.Last
	h.Take(rec.Side, rec.Seq)
	h.Live[rec.Side]++
	h.Bytes += uint64(len(rec.Data))
	m.keys.tables.Active.Add(h, *rec)
}

// origin is where an id was found: in which incarnation, at which seq.
type origin struct{ inc, seq uint64 }

// duplicate decides by their ids whether messages were appended before. If all
// of them were, in this order and contiguously, it fills in r as the first
// time; if only some were, or with other payloads, it returns the error.
func (m *Machine) duplicate(key string, h *memtable.Head, ms []turn.NewMessage, r *turn.Result) (bool, error) {
	known := 0
	var first, before origin
	var revision uint64
	contiguous := true
	ids := lookup{m: m, key: key, h: h, ms: ms}
	for i := range ms {
		if ms[i].ID == "" {
			continue
		}
		rec, inc, err := ids.find(ms[i].ID)
		if err != nil {
			return false, err
		}
		if inc == 0 {
			continue
		}
		if !rec.Carries(ms[i].Data) {
			return false, turn.Errorf(turn.IDReused, "id %q belongs to message %d, which has another payload",
				ms[i].ID, rec.Seq)
		}
		here := origin{inc, rec.Seq}
		if known == 0 {
			first = here
		}
		contiguous = contiguous && known == i && (known == 0 || here == origin{before.inc, before.seq + 1})
		before, revision = here, rec.Revision
		known++
	}
	switch {
	case known == 0:
		return false, nil
	case known < len(ms) || !contiguous:
		e := turn.Errorf(turn.Conflict, "%d of the %d messages are known by their ids, but not as one append",
			known, len(ms))
		if h != nil {
			e.Revision = h.Revision
		}
		return false, e
	}
	r.First, r.Last, r.Duplicate = first.seq, before.seq, true
	r.Revision = revision
	if h != nil {
		r.Count = h.Count()
	}
	return true, nil
}

// lookup finds messages by the ids that they carried, in a session or in what was
// deleted under the same key not long ago.
type lookup struct {
	m   *Machine
	key string
	h   *memtable.Head // nil: there is no session
	ms  []turn.NewMessage
	// deleted is found for all of ms when an id is not in the session.
	deleted deletedOrigins
	looked  bool
}

// find returns the message that carried id. inc is 0 if there is none.
func (l *lookup) find(id string) (rec layout.Record, inc uint64, err error) {
	m, h := l.m, l.h
	if h != nil {
		if rec, ok, err := m.lookupIn(m.windows.Of(h.Inc, h.Window), rememberedOf(h), id); ok || err != nil {
			return rec, h.Inc, err
		}
		if h.TombstonesUntil <= m.keys.meta.Clock {
			return layout.Record{}, 0, nil
		}
	}
	if !l.looked {
		if l.deleted, err = m.deletedOrigins(l.key, l.ms); err != nil {
			return layout.Record{}, 0, err
		}
		l.looked = true
	}
	return m.lookupDeleted(l.deleted, id)
}

// lookupIn finds id among what is remembered of an incarnation, whose window is w if it
// is kept.
func (m *Machine) lookupIn(w *idwindow.Window, of remembered, id string) (rec layout.Record, ok bool, err error) {
	if !of.any() {
		return layout.Record{}, false, nil
	}
	if w == nil {
		if w, err = m.rebuildWindow(of); err != nil {
			return layout.Record{}, false, err
		}
	}
	var v *memtable.View // most ids are new: then nothing has to be looked at
	w.Find(m.windows.Print(id), func(ordinal uint64) bool {
		if v == nil {
			if v, err = m.wholeIDs(of.inc); err != nil {
				return true
			}
		}
		if rec, ok, err = v.Find(of.moves.Seq(ordinal)); err != nil || ok && rec.ID == id {
			return true
		}
		rec, ok = layout.Record{}, false
		return false
	})
	return rec, ok, err
}

// wholeIDs is ids with the store, where it is needed. Only for use in Apply.
func (m *Machine) wholeIDs(inc uint64) (*memtable.View, error) {
	v := m.keys.tables.IDs(inc, nil)
	if v.Complete() {
		return &v, nil
	}
	tx, err := m.keys.storeTx()
	v.Tx = tx
	return &v, err
}

func (m *Machine) rebuildWindow(of remembered) (*idwindow.Window, error) {
	v, err := m.wholeIDs(of.inc)
	if err != nil {
		return nil, err
	}
	start := of.windowStart()
	w := m.windows.Add(of.inc, of.moves.Ordinal(start))
	err = v.Ascend(start, func(r *layout.Record) bool {
		if !of.moves.Runs.Has(r.Seq) {
			m.windows.Note(w, of.moves.Ordinal(r.Seq), r.ID)
		}
		return true
	})
	for last := of.last - of.moves.Total; err == nil && w.Next <= last; {
		m.windows.Note(w, w.Next, "")
	}
	return w, err
}

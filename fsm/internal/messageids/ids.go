// Package messageids finds messages by the ids with which they were appended, by which retries are recognised: among
// the last messages of a session, and among those of sessions that were deleted or renamed recently under the same key.
//
// Which ids are remembered is part of the replicated state, so that all nodes recognise the same retries. It is for use
// only while an entry is applied.
package messageids

import (
	"github.com/turnlog/turnlog/fsm/internal/idwindow"
	"github.com/turnlog/turnlog/fsm/internal/keyspace"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
)

// IDs are the ids of messages that are remembered. They are only for use while an entry is applied.
type IDs struct {
	keys    *keyspace.Keys
	Windows *idwindow.Windows
}

// New returns the ids of the messages of some keys, whose windows take so many bytes at most.
func New(keys *keyspace.Keys, bytes int) *IDs { return &IDs{keys, idwindow.New(bytes)} }

// Note is told of a record that was just appended to an owned head, the last one.
func (x *IDs) Note(h *memtable.Head, rec *layout.Record) {
	if rec.ID != "" {
		h.LastID = rec.Seq
	}
	if h.Window = x.Windows.Of(h.Inc, h.Window); h.Window != nil {
		x.note(h.Window, h.Last-h.Moves.Total, rec)
	}
}

// note adds a record to a window.
func (x *IDs) note(w *idwindow.Window, ordinal uint64, rec *layout.Record) {
	x.Windows.Note(w, ordinal, rec.ID)
	if rec.Notes == nil || rec.Notes.Call == nil {
		return
	}
	c := rec.Notes.Call
	x.Windows.NoteCall(w, &idwindow.Call{Digest: c.Digest, Ordinal: ordinal, Revision: rec.Revision, Before: c.Before,
		After: c.After})
}

// Find returns the message that a session remembers to have been appended with an id. It may be dead by now.
func (x *IDs) Find(h *memtable.Head, id string) (rec layout.Record, ok bool, err error) {
	return x.FindAmong(h, id, nil)
}

// FindAmong is Find where some of the session's messages are at hand.
func (x *IDs) FindAmong(h *memtable.Head, id string, run Run) (rec layout.Record, ok bool, err error) {
	return x.lookupIn(x.Windows.Of(h.Inc, h.Window), h.Remembered(), id, run)
}

// FindDeleted is FindAmong for a deleted session.
func (x *IDs) FindDeleted(g *layout.Tombstone, id string, run Run) (rec layout.Record, ok bool, err error) {
	return x.lookupIn(x.Windows.Get(g.Inc), g.Remembered(), id, run)
}

// Run are messages of an incarnation, dead ones included, in the order of their seqs. To read them at once costs
// hardly more than to read one.
type Run []layout.Record

// Run returns the messages of an incarnation that have one of n seqs, but those behind so many bytes of payloads.
func (x *IDs) Run(inc, first, n, bytes uint64) (run Run, err error) {
	v, err := x.wholeIDs(inc)
	if err != nil {
		return nil, err
	}
	size := uint64(0)
	err = v.Ascend(first, func(r *layout.Record) bool {
		if size += uint64(len(r.Data)); r.Seq >= first+n || size > bytes {
			return false
		}
		run = append(run, *r)
		return true
	})
	return run, err
}

// At returns the message with a seq.
func (run Run) At(seq uint64) (rec layout.Record, ok bool) {
	if i := layout.IndexOf(run, seq); i < len(run) && run[i].Seq == seq {
		return run[i], true
	}
	return rec, false
}

// lookupIn finds id among what is remembered of an incarnation, whose window is w if it
// is kept, and of which a run is at hand.
func (x *IDs) lookupIn(
	w *idwindow.Window, of layout.Remembered, id string, run Run,
) (rec layout.Record, ok bool, err error) {
	if !of.Any() {
		return layout.Record{}, false, nil
	}
	if w == nil {
		if w, err = x.rebuildWindow(of); err != nil {
			return layout.Record{}, false, err
		}
	}
	var v *memtable.View // most ids are new: then nothing has to be looked at
	w.Find(x.Windows.Print(id), func(ordinal uint64) bool {
		seq := of.Moves.Seq(ordinal)
		if rec, ok = run.At(seq); !ok {
			if v == nil {
				if v, err = x.wholeIDs(of.Inc); err != nil {
					return true
				}
			}
			rec, ok, err = v.Find(seq)
		}
		if err != nil || ok && rec.ID == id {
			return true
		}
		rec, ok = layout.Record{}, false
		return false
	})
	return rec, ok, err
}

// wholeIDs is the ids of the messages of an incarnation, store included where it is needed.
func (x *IDs) wholeIDs(inc uint64) (*memtable.View, error) {
	v := x.keys.Tables.IDs(inc, nil)
	if v.Complete() {
		return &v, nil
	}
	tx, err := x.keys.Reading()
	v.Tx = tx
	return &v, err
}

func (x *IDs) rebuildWindow(of layout.Remembered) (*idwindow.Window, error) {
	v, err := x.wholeIDs(of.Inc)
	if err != nil {
		return nil, err
	}
	start := of.WindowStart()
	w := x.Windows.Add(of.Inc, of.Moves.Ordinal(start))
	err = v.Ascend(start, func(r *layout.Record) bool {
		if !of.Moves.Runs.Has(r.Seq) {
			x.note(w, of.Moves.Ordinal(r.Seq), r)
		}
		return true
	})
	for last := of.Last - of.Moves.Total; err == nil && w.Next <= last; {
		x.Windows.Note(w, w.Next, "")
	}
	return w, err
}

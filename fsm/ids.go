package fsm

import (
	"github.com/turnlog/turnlog/fsm/internal/idwindow"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
)

// ids finds messages by the ids that they were appended with. It is only for use in Apply.
type ids struct {
	*keyspace
	windows *idwindow.Windows
}

// origin is where an id was found: in which incarnation, at which seq.
type origin struct{ inc, seq uint64 }

// lookupIn finds id among what is remembered of an incarnation, whose window is w if it
// is kept.
func (x *ids) lookupIn(w *idwindow.Window, of remembered, id string) (rec layout.Record, ok bool, err error) {
	if !of.any() {
		return layout.Record{}, false, nil
	}
	if w == nil {
		if w, err = x.rebuildWindow(of); err != nil {
			return layout.Record{}, false, err
		}
	}
	var v *memtable.View // most ids are new: then nothing has to be looked at
	w.Find(x.windows.Print(id), func(ordinal uint64) bool {
		if v == nil {
			if v, err = x.wholeIDs(of.inc); err != nil {
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

// wholeIDs is the ids of the messages of an incarnation, store included where it is needed.
func (x *ids) wholeIDs(inc uint64) (*memtable.View, error) {
	v := x.tables.IDs(inc, nil)
	if v.Complete() {
		return &v, nil
	}
	tx, err := x.storeTx()
	v.Tx = tx
	return &v, err
}

func (x *ids) rebuildWindow(of remembered) (*idwindow.Window, error) {
	v, err := x.wholeIDs(of.inc)
	if err != nil {
		return nil, err
	}
	start := of.windowStart()
	w := x.windows.Add(of.inc, of.moves.Ordinal(start))
	err = v.Ascend(start, func(r *layout.Record) bool {
		if !of.moves.Runs.Has(r.Seq) {
			x.windows.Note(w, of.moves.Ordinal(r.Seq), r.ID)
		}
		return true
	})
	for last := of.last - of.moves.Total; err == nil && w.Next <= last; {
		x.windows.Note(w, w.Next, "")
	}
	return w, err
}

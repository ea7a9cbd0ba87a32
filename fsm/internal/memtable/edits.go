package memtable

import (
	"github.com/tidwall/btree"

	"github.com/turnlog/turnlog/fsm/internal/layout"
)

// edits holds, by seq, the new records of messages whose payloads operations of a memtable
// replaced. Records in blocks are immutable: a flush writes new ones.
type edits = btree.Map[uint64, layout.Record]

// Edit replaces a record of the session of a head that t holds.
func (t *Table) Edit(h *Head, r layout.Record) {
	w := t.tailOf(h)
	old, had := w.edits.Set(r.Seq, r)
	if t.Bytes += len(r.Data) - len(old.Data); !had {
		t.Bytes += sizeOf(&r) - len(r.Data) + layout.DigestSize
	}
}

// current returns a record that a layer, or the store (0), holds as it is since later
// edits. A tombstone stays what it is.
func (v *View) current(layer int, r *layout.Record) *layout.Record {
	if !v.edited || r.Dead {
		return r
	}
	for i := len(v.layers) - 1; i >= layer; i-- {
		if e := v.layers[i].edits; e != nil {
			if later, ok := e.Get(r.Seq); ok {
				return &later
			}
		}
	}
	return r
}

func (t *Table) layer(inc uint64) layer {
	w := t.tails[inc]
	if w == nil {
		return layer{}
	}
	l := layer{records: w.records, removed: w.removed, complete: w.complete}
	if w.edits.Len() > 0 {
		l.edits = &w.edits
	}
	return l
}

package fsm

import (
	"github.com/tidwall/btree"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// edits holds, by seq, the new records of messages whose payloads operations of a memtable
// replaced. Records in blocks are immutable: a flush writes new ones.
type edits = btree.Map[uint64, layout.Record]

// edit replaces a record of the session of a head that t holds.
func (t *memtable) edit(h *head, r layout.Record) {
	w := t.tailOf(h)
	old, had := w.edits.Set(r.Seq, r)
	t.bytes += len(r.Data) - len(old.Data)
	if !had {
		t.bytes += recordCost + layout.DigestSize + len(r.ID)
	}
}

// current returns a record that a layer, or the store (0), holds as it is since later
// edits. A tombstone stays what it is.
func (v *view) current(layer int, r *layout.Record) *layout.Record {
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

// holdEdits makes the edits of v, which was found in memory under mu, valid beyond it:
// the active memtable goes on from a copy of what was shared.
func (m *Machine) holdEdits(v *view) {
	if e := v.layers[2].edits; e != nil {
		m.copying.Lock()
		v.layers[2].edits = e.IsoCopy()
		m.copying.Unlock()
	}
}

// replaceElement gives the element at index i of the list another payload. The message
// keeps its seq, time and id.
func (m *Machine) replaceElement(key string, h *head, i uint64, data []byte, r *turn.Result) error {
	heads := h.Live[turn.Head]
	side, rank, total := turn.Tail, i-heads, h.Live[turn.Tail]
	if i < heads {
		side, rank, total = turn.Head, heads-1-i, heads
	}
	if limit := turn.DefaultLimits().ForkMessages; min(rank, total-1-rank) > uint64(limit) { // the same on every node
		return turn.Errorf(turn.TooLarge, "the element is more than %d elements away from both ends", limit)
	}
	if err := m.search(); err != nil {
		return err
	}
	v, err := m.view(h)
	if err != nil {
		return err
	}
	m.bound(&v)
	found, err := v.ranks(side, rank, 1, total)
	if err == nil {
		err = m.searched(&v)
	}
	if err != nil {
		return err
	}
	h = m.own(key, h)
	h.Bytes += uint64(len(data)) - uint64(len(found[0].Data))
	m.kept += len(data)
	m.active.edit(h, found[0].Edited(data))
	m.changed(key, h)
	r.Count, r.Revision = h.Count(), h.Revision
	return nil
}

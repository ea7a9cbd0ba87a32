package keyspace

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

// Find returns the head of an existing key, whatever its type, nil if there is
// none. One whose time has come is deleted now, whether or not its turn in the
// due index has come.
func (ks *Keys) Find(key string) (*memtable.Head, error) {
	h, err := ks.Head(key)
	if h != nil && h.Expired(ks.Meta.Clock) {
		ks.Remove(key, h)
		return nil, nil
	}
	return h, err
}

// Remove deletes a key. A session's ids are remembered for a while if it had any.
func (ks *Keys) Remove(key string, h *memtable.Head) { ks.RemoveRenamed(key, h, layout.Renamed{}) }

// RemoveRenamed is Remove for a key that was renamed, if it was.
func (ks *Keys) RemoveRenamed(key string, h *memtable.Head, renamed layout.Renamed) {
	if h.Labelled {
		ks.Unlabel(key, &h.Head)
	}
	ks.CountKey(key, h.Held(), false)
	ks.Tables.Active.Remove(key, h)
	if of := h.Remembered(); of.Any() {
		g := layout.Tombstone{Inc: h.Inc, Last: h.Last, Moves: h.Moves, Deadline: ks.After(turn.TombstoneTime),
			Renamed: renamed}
		ks.Tables.Active.AddTombstone(layout.TombstoneKey(key, g.Inc), g)
		ks.Meta.TombstonesUntil = max(ks.Meta.TombstonesUntil, g.Deadline)
	}
	ks.advance(key)
	ks.notify(key)
}

// Changed gives an owned head, which was changed, its new revision.
func (ks *Keys) Changed(key string, h *memtable.Head) {
	before := h.Revision
	h.Revision, h.Updated = ks.advance(key), ks.Meta.Clock
	if len(h.Meta) > 0 || h.Labelled {
		ks.relabel(key, h, before)
	}
	ks.notify(key)
}

// Settle finishes a change of the elements of an owned head; before says whether Redis saw
// the key before it. A value without elements is removed, another gets its new revision,
// which is returned; of a removed one, that of the removal or a higher one.
func (ks *Keys) Settle(key string, h *memtable.Head, before bool) (revision uint64) {
	ks.CountKey(key, before, h.Held())
	if !h.Held() {
		ks.Remove(key, h)
		return ks.Revision(key)
	}
	ks.Changed(key, h)
	return h.Revision
}

// relabel moves a session, an owned head that has just got its revision, in the index. Before
// turn.Level2 there is no index: a session enters it with its first change at that level.
func (ks *Keys) relabel(key string, h *memtable.Head, before uint64) {
	if ks.Meta.Level < turn.Level2 {
		return
	}
	labels := h.Labels()
	for _, l := range labels {
		x := labelling{ks, key, l}
		if h.Labelled {
			x.move(before, h.Revision)
		} else {
			x.move(0, h.Revision)
		}
	}
	h.Labelled = len(labels) > 0
}

// Unlabel takes a session that is in the index out of it.
func (ks *Keys) Unlabel(key string, h *layout.Head) {
	for _, l := range turn.LabelsOf(h.Meta) {
		labelling{ks, key, l}.move(h.Revision, 0)
	}
}

// labelling is what the index has of a session under one of its labels.
type labelling struct {
	*Keys
	session string // its joined key
	label   turn.Label
}

// move takes the session out of the hash at one revision, unless that is 0, and into it at another one,
// unless that is 0. What the disk says is kept as the fault.
func (x labelling) move(from, to uint64) {
	k := layout.SplitKey(x.session)
	key := layout.LabelKey(k.Namespace, x.label)
	h, err := x.Head(key)
	if err != nil {
		x.fault = err
		return
	}
	if h == nil { // nor is there an entry to be removed, on any node
		from = 0
	}
	if h == nil && to == 0 {
		return
	}
	before := h != nil
	if before {
		h = x.Own(key, h)
	} else {
		h = x.Begin(key, turn.TypeHash)
	}
	size := uint64(layout.LabelFieldSize + len(k.Name))
	if from != 0 {
		x.Tables.Active.DeleteOnce(h, layout.LabelField(from))
		x.noteGap(h, layout.LabelField(from))
		h.Live[0]--
		h.Bytes -= size
	}
	if to != 0 {
		x.PutElement(h, layout.LabelField(to), []byte(k.Name))
		h.Live[0]++
		h.Bytes += size
	}
	x.Settle(key, h, before)
}

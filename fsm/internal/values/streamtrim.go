package values

import (
	"math"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

// trimChunk is how many entries a trim removes one by one at most. Of more, it only raises
// the stream's floor: what is below is dead, and removed from the store gradually. It
// decides what the state is, so that it must stay as it is.
const trimChunk = 256

// trimStream removes entries from the beginning of an owned head.
func (v ops) trimStream(h *memtable.Head, t *turn.StreamTrim) (removed uint64, err error) {
	limit := h.Count()
	switch t.By {
	case turn.TrimNothing:
		return 0, nil
	case turn.ToLength:
		limit -= min(limit, t.Length)
	}
	if t.Limit > 0 {
		limit = min(limit, t.Limit)
	}
	if limit == 0 {
		return 0, nil
	}
	e, err := v.Elements(h)
	if err != nil {
		return 0, err
	}
	if t.By == turn.ToLength && limit > max(trimChunk, h.Count()-limit) {
		return limit, v.keepEntries(h, &e, h.Count()-limit)
	}
	end := layout.EntryName(t.ID)
	return v.trimEntriesOf(h, &e, func(name string) bool { return t.By == turn.ToLength || name < end }, limit)
}

// trimEntriesOf removes the first entries of an owned head, at most limit, up to the first
// that does not go.
func (v ops) trimEntriesOf(
	h *memtable.Head, e *memtable.Elements, goes func(name string) bool, limit uint64,
) (removed uint64, err error) {
	var names []string // as long as they are few
	last, size, more := "", uint64(0), true
	err = e.Ascend("", func(name string, value []byte) bool {
		if more = goes(name); !more {
			return false
		}
		if removed < trimChunk {
			names = append(names, name)
		}
		last = name
		removed++
		size += uint64(len(name) + len(value))
		more = removed < limit
		return more
	})
	switch {
	case err == nil && more && removed != h.Count():
		return 0, layout.HeadCountsMore(h.Inc)
	case err != nil || removed == 0:
		return 0, err
	case removed > uint64(len(names)):
		h.Live[0] -= removed
		h.Bytes -= size
		v.raiseFloor(h, layout.SplitEntryName(last))
		return removed, nil
	}
	removed, err = v.takeEntries(h, e, names)
	if err == nil {
		h.Front = last + "\x00"
	}
	return removed, err
}

// keepEntries removes all but the last n entries of an owned head. It looks at those only.
func (v ops) keepEntries(h *memtable.Head, e *memtable.Elements, n uint64) error {
	left, size, first := n, uint64(0), ""
	if n > 0 {
		if err := e.Descend(layout.EntryName(turn.MaxEntryID())+"\x00", func(name string, value []byte) bool {
			first = name
			size += uint64(len(name) + len(value))
			left--
			return left > 0
		}); err != nil {
			return err
		}
		if left > 0 {
			return layout.HeadCountsMore(h.Inc)
		}
	}
	floor := h.Entry
	if n > 0 {
		floor = before(layout.SplitEntryName(first))
	}
	h.Live[0], h.Bytes = n, size
	v.raiseFloor(h, floor)
	return nil
}

// before returns the id before one that is not the lowest.
func before(id turn.EntryID) turn.EntryID {
	if id.Seq == 0 {
		return turn.EntryID{Time: id.Time - 1, Seq: math.MaxUint64}
	}
	return turn.EntryID{Time: id.Time, Seq: id.Seq - 1}
}

// raiseFloor makes dead what an owned head of a stream has up to an id.
func (v ops) raiseFloor(h *memtable.Head, id turn.EntryID) {
	h.Low = [2]uint64{id.Time, id.Seq}
	h.Front = h.StreamFront()
	v.DropBelow(h, h.Front)
}

// takeEntries removes those entries of an owned head that are there.
func (v ops) takeEntries(h *memtable.Head, e *memtable.Elements, names []string) (removed uint64, err error) {
	for _, name := range names {
		old, had, err := e.Get(name)
		if err != nil {
			return removed, err
		}
		if had {
			v.take(h, name, old)
			removed++
		}
	}
	return removed, nil
}

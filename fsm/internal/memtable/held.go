package memtable

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// HoldsRead reports whether the memtables alone answer q.
func (v *View) HoldsRead(q *turn.Read) bool {
	switch {
	case q.Whole || q.Since > 0 || q.Until > 0:
		return false
	case q.From == turn.FromAfter:
		return q.Seq+1 >= v.ceiling()
	case q.Limit == 0 || q.MaxBytes > 0 || q.MaxTokens > 0:
		return false
	case q.From == turn.FromBefore:
		return q.Seq > 0 && v.holdsNewest(uint64(q.Limit), q.Seq-1)
	}
	return v.holdsNewest(uint64(q.Limit), layout.MaxSeq)
}

// HoldsList is HoldsRead for the last elements of a list that holds only what
// was pushed at its tail.
func (v *View) HoldsList(q *turn.List, h *Head) bool {
	if h.Live[turn.Head] > 0 || q.Start >= 0 || q.Stop != -1 {
		return false
	}
	n := uint64(-q.Start)
	return n < h.Count()/2 && v.holdsNewest(n, layout.MaxSeq) // else it is walked to from the other end
}

// maxHeld bounds how far holdsNewest counts, which it does while Apply waits.
const maxHeld = 1000

// holdsNewest reports whether more than n live messages with seq ≤ from are in
// memory: then a reader of n of them also learns there that there are more.
func (v *View) holdsNewest(n, from uint64) bool {
	found := uint64(0)
	// Without a transaction the store is not asked, and so nothing can fail.
	_ = v.Newest(AnySide, from, func(*layout.Record) bool {
		found++
		return found <= n && found <= maxHeld
	})
	return found > n
}

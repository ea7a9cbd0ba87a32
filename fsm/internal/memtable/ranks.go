package memtable

import (
	"slices"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// Ranks returns the live messages of a side (or of AnySide, in commit order) with ranks skip … skip+n-1,
// counted from the lowest seq, in that order; total is how many there are.
// It walks from the nearer end.
func (v *View) Ranks(side turn.Side, skip, n, total uint64) ([]layout.Record, error) {
	return v.RanksWhile(side, skip, n, total, func(*layout.Record) bool { return true })
}

// RanksWhile is ranks, but ends the walk with the first message for which more is false.
func (v *View) RanksWhile(side turn.Side, skip, n, total uint64,
	more func(*layout.Record) bool) ([]layout.Record, error) {
	if skip >= total || n == 0 {
		return nil, nil
	}
	out := make([]layout.Record, 0, min(n, total-skip, 4096))
	err := v.ranked(side, skip, n, total, func(r *layout.Record) bool {
		out = append(out, *r)
		return more(r)
	})
	if len(out) > 1 && out[0].Seq > out[1].Seq {
		slices.Reverse(out)
	}
	return out, err
}

// ranked calls fn with the messages that ranks returns, in either order, until it returns
// false. It is damage if the walk ends before.
func (v *View) ranked(side turn.Side, skip, n, total uint64, fn func(*layout.Record) bool) error {
	if skip >= total || n == 0 {
		return nil
	}
	n = min(n, total-skip)
	stopped := false
	take := func(r *layout.Record) bool {
		if skip > 0 {
			skip--
			return true
		}
		n--
		stopped = !fn(r) || n == 0
		return !stopped
	}
	var err error
	if after := total - skip - n; after <= skip {
		skip = after
		err = v.Newest(side, layout.MaxSeq, take)
	} else {
		err = v.Oldest(side, 0, take)
	}
	if err == nil && !stopped && !v.Over() {
		err = layout.HeadCountsMore(v.inc)
	}
	return err
}

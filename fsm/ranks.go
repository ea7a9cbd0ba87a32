package fsm

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// ranks returns the live messages of a side (or of anySide, in commit order) with ranks skip … skip+n-1,
// counted from the lowest seq, in that order; total is how many there are.
// It walks from the nearer end.
func (v *view) ranks(side turn.Side, skip, n, total uint64) ([]layout.Record, error) {
	return v.ranksWhile(side, skip, n, total, func(*layout.Record) bool { return true })
}

// ranksWhile is ranks, but ends the walk with the first message for which more is false.
func (v *view) ranksWhile(side turn.Side, skip, n, total uint64,
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
		reverse(out)
	}
	return out, err
}

// ranked calls fn with the messages that ranks returns, in either order, until it returns
// false. It is damage if the walk ends before.
func (v *view) ranked(side turn.Side, skip, n, total uint64, fn func(*layout.Record) bool) error {
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
		err = v.newest(side, layout.MaxSeq, take)
	} else {
		err = v.oldest(side, 0, take)
	}
	if err == nil && !stopped && !v.over() {
		err = headCountsMore(v.inc)
	}
	return err
}

// headCountsMore is the error for a walk that comes to fewer live messages, or elements, than
// the head of the incarnation counts, although all that it came upon is whole: pairs are hidden,
// or the count is wrong. An entry may not be applied to what is left.
func headCountsMore(inc uint64) error {
	return countDamage{turn.Errorf(turn.Corrupt, "incarnation %d has fewer elements than its head counts", inc)}
}

// countDamage is the error of headCountsMore.
type countDamage struct{ error }

func (e countDamage) Unwrap() error { return e.error }

func reverse(rs []layout.Record) {
	for i, j := 0, len(rs)-1; i < j; i, j = i+1, j-1 {
		rs[i], rs[j] = rs[j], rs[i]
	}
}

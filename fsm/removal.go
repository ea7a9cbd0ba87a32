package fsm

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// removal is what must be known of messages that go: neither ids nor payloads.
type removal struct {
	lowest, highest uint64 // seqs; 0: none
	live            [2]uint64
	bytes           uint64
}

func (x *removal) add(r *layout.Record) {
	if x.lowest == 0 || r.Seq < x.lowest {
		x.lowest = r.Seq
	}
	x.highest = max(x.highest, r.Seq)
	x.live[r.Side]++
	x.bytes += uint64(len(r.Data))
}

func removalOf(rs []layout.Record) (x removal) {
	for i := range rs {
		x.add(&rs[i])
	}
	return x
}

// pass is ranks for messages that are not kept: it holds one block of them at a time.
func (v *view) pass(side turn.Side, skip, n, total uint64) (x removal, err error) {
	defer v.passing()()
	err = v.ranked(side, skip, n, total, func(r *layout.Record) bool {
		x.add(r)
		return true
	})
	return x, err
}

// from is pass for the messages with seq ≥ first, of total in all.
func (v *view) from(first, total uint64) (x removal, err error) {
	defer v.passing()()
	more := true
	err = v.newest(anySide, layout.MaxSeq, func(r *layout.Record) bool {
		if more = r.Seq >= first; more {
			x.add(r)
		}
		return more
	})
	return x, v.whole(err, more, x, total)
}

// before is pass for the messages with seq < end, of total in all.
func (v *view) before(end, total uint64) (x removal, err error) {
	defer v.passing()()
	more := true
	err = v.oldest(anySide, 0, func(r *layout.Record) bool {
		if more = r.Seq < end; more {
			x.add(r)
		}
		return more
	})
	return x, v.whole(err, more, x, total)
}

// whole returns the error of a walk that found x. If it came to the end, x is all there is.
func (v *view) whole(err error, toEnd bool, x removal, total uint64) error {
	if err == nil && toEnd && x.live[turn.Tail]+x.live[turn.Head] != total {
		err = headCountsMore(v.inc)
	}
	return err
}

// passing has blocks read into the same memory, one after the other, until the function
// that it returns is called: records are valid only while they are shown.
func (v *view) passing() (end func()) {
	if v.tx == nil {
		return func() {}
	}
	return v.tx.Passing()
}

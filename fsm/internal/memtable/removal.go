package memtable

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// Removal is what must be known of messages that go: neither ids nor payloads.
type Removal struct {
	Lowest, Highest uint64 // seqs; 0: none
	Live            [2]uint64
	Bytes           uint64
	// Inside: the lowest is so, SomeInside: one of them.
	Inside, SomeInside bool
}

// Count returns how many messages go.
func (x *Removal) Count() uint64 { return x.Live[turn.Tail] + x.Live[turn.Head] }

// Add adds a message.
func (x *Removal) Add(r *layout.Record) {
	if x.Lowest == 0 || r.Seq < x.Lowest {
		x.Lowest, x.Inside = r.Seq, r.Inside
	}
	x.SomeInside = x.SomeInside || r.Inside
	x.Highest = max(x.Highest, r.Seq)
	x.Live[r.Side]++
	x.Bytes += uint64(len(r.Data))
}

func RemovalOf(rs []layout.Record) (x Removal) {
	for i := range rs {
		x.Add(&rs[i])
	}
	return x
}

// Pass is ranks for messages that are not kept: it holds one block of them at a time.
func (v *View) Pass(side turn.Side, skip, n, total uint64) (x Removal, err error) {
	defer v.Passing()()
	err = v.ranked(side, skip, n, total, func(r *layout.Record) bool {
		x.Add(r)
		return true
	})
	return x, err
}

// From is pass for the messages with seq ≥ first, of total in all.
func (v *View) From(first, total uint64) (x Removal, err error) {
	defer v.Passing()()
	more := true
	err = v.Newest(AnySide, layout.MaxSeq, func(r *layout.Record) bool {
		if more = r.Seq >= first; more {
			x.Add(r)
		}
		return more
	})
	return x, v.whole(err, more, x, total)
}

// Before is pass for the messages with seq < end, of total in all.
func (v *View) Before(end, total uint64) (x Removal, err error) {
	defer v.Passing()()
	more := true
	err = v.Oldest(AnySide, 0, func(r *layout.Record) bool {
		if more = r.Seq < end; more {
			x.Add(r)
		}
		return more
	})
	return x, v.whole(err, more, x, total)
}

// whole returns the error of a walk that found x. If it came to the end, x is all there is.
func (v *View) whole(err error, toEnd bool, x Removal, total uint64) error {
	if err == nil && toEnd && x.Count() != total {
		err = layout.HeadCountsMore(v.inc)
	}
	return err
}

// Passing has blocks read into the same memory, one after the other, until the function
// that it returns is called: records are valid only while they are shown.
func (v *View) Passing() (end func()) {
	if v.Tx == nil {
		return func() {}
	}
	return v.Tx.Passing()
}

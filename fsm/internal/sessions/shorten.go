package sessions

import (
	"cmp"
	"slices"
	"strings"

	"github.com/turnlog/turnlog/fsm/internal/cost"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

// What one session may cost to be shortened, whatever others have cost before it: to look for what it keeps, and then
// for a message at which it can be cut. That is enough for a call of the greatest size, and 8 MiB between it and its
// result.
const (
	newestShare = cost.EntryShortening / 2
	oldestShare = cost.EntryShortening + cost.Passed*2*turn.ToolReach
)

// shorten drops from an owned head, which is to be told as changed next, what is beyond its retention. It
// refuses nothing: where what an entry may cost for it is used up, the next operation that adds messages goes on.
func (s *Operations) shorten(h *memtable.Head) error {
	if !tooLong(h) || s.Allowance.Shortening == 0 {
		return nil
	}
	v, err := s.View(h)
	if err != nil {
		return err
	}
	defer v.Passing()()
	x := shortening{Operations: s, head: h, view: v}
	defer func() { s.Allowance.Shortening = max(s.Allowance.Shortening-x.spent, 0) }()
	if x.endIsNear() {
		if done, err := x.keepNewest(); done || err != nil {
			return err
		}
	}
	return x.dropOldest()
}

// tooLong reports whether a session may have more than its retention says. Something is left of every session: a
// limit is 1 at least, and turns begin at or below the newest message.
func tooLong(h *memtable.Head) bool {
	if n := h.Retention.Messages; n > 0 {
		return h.Count() > n
	}
	n := uint64(len(h.Turns))
	return n > 0 && n == h.Retention.Turns && h.Turns[0] > h.First && h.Count() > 0
}

// shortening shortens one session.
type shortening struct {
	*Operations
	head  *memtable.Head
	view  memtable.View
	spent int
}

// endIsNear reports whether there seems to be less to keep than to drop.
func (x *shortening) endIsNear() bool {
	h := x.head
	if n := h.Retention.Messages; n > 0 {
		return n < h.Count()-n
	}
	return h.Last-h.Turns[0] < h.Turns[0]-h.First
}

// pass takes the cost of passing a message off what is left of some.
func (x *shortening) pass(left int, r *layout.Record) int {
	n := cost.Passed + len(r.Data)
	x.spent += n
	return left - n
}

// keepNewest finds what to keep, from the newest message on, and drops the rest. It is not done if that would
// cost more than newestShare.
func (x *shortening) keepNewest() (done bool, err error) {
	h, kept, spare := x.head, memtable.Removal{}, 0
	left := newestShare
	if err := x.view.Newest(memtable.AnySide, layout.MaxSeq, func(r *layout.Record) bool {
		if x.suffices(&kept, r.Seq) {
			if done = !kept.Inside || spare == turn.ToolReach; done {
				return false
			}
			spare++
		}
		kept.Add(r)
		left = x.pass(left, r)
		return left > 0
	}); err != nil || !done {
		return false, err
	}
	if err := x.noteDropped(kept.Lowest, h.Count()-kept.Count(), oldestShare); err != nil {
		return false, err
	}
	x.keepOnly(h, kept)
	h.First = kept.Lowest
	return true, nil
}

// suffices reports whether a session's retention does not ask for the message before those that are kept.
func (x *shortening) suffices(kept *memtable.Removal, seq uint64) bool {
	if n := x.head.Retention.Messages; n > 0 {
		return kept.Count() >= n
	}
	return seq < x.head.Turns[0]
}

// dropOldest drops the messages that are beyond the retention, from the oldest on, up to the last one behind
// which a cut parts nothing, but all that are more than turn.ToolReach messages beyond it.
func (x *shortening) dropOldest() error {
	h, left := x.head, oldestShare
	over := h.Count() // of messages
	if n := h.Retention.Messages; n > 0 {
		over -= n
	}
	var passed, gone memtable.Removal
	var next, first uint64 // seqs of the messages behind them
	if err := x.view.Oldest(memtable.AnySide, h.First, func(r *layout.Record) bool {
		if !r.Inside {
			gone, first = passed, r.Seq
		}
		if passed.Count() == over || h.Retention.Turns > 0 && r.Seq >= h.Turns[0] || left <= 0 {
			next = r.Seq
			return false
		}
		passed.Add(r)
		left = x.pass(left, r)
		return true
	}); err != nil {
		return err
	}
	if next == 0 {
		return layout.HeadCountsMore(h.Inc)
	}
	switch n := passed.Count(); {
	case n > gone.Count()+turn.ToolReach:
		var err error
		if gone, first, err = x.oldest(n - turn.ToolReach); err != nil {
			return err
		}
	case gone.Lowest == 0 && left <= 0:
		gone, first = passed, next // more is not looked at for a call
	}
	if gone.Lowest == 0 {
		return nil
	}
	paid := cost.Passed*int(gone.Count()) + int(gone.Bytes) // to pass them once more costs no more than that
	if err := x.noteDropped(gone.Highest+1, gone.Count(), paid); err != nil {
		return err
	}
	x.drop(h, memtable.AnySide, true, gone)
	h.First = first
	return nil
}

// oldest returns the n oldest messages, which are passed once more, and the seq of the next one.
func (x *shortening) oldest(n uint64) (gone memtable.Removal, next uint64, err error) {
	err = x.view.Oldest(memtable.AnySide, x.head.First, func(r *layout.Record) bool {
		if next = r.Seq; gone.Count() == n {
			return false
		}
		gone.Add(r)
		x.pass(0, r)
		return true
	})
	return gone, next, err
}

// noteDropped notes that all messages below a seq, n, are about to be dropped by the retention, for pushes that come
// again. To look at them may cost left.
func (x *shortening) noteDropped(below, n uint64, left int) error {
	h := x.head
	if h.LastID == 0 {
		return nil
	}
	start := h.Moves.WindowStart(h.Last)
	gone, err := x.pushed(start, below, n, left)
	if err != nil {
		return err
	}
	dropped := make(layout.Spans, 0, len(h.Dropped)+len(gone))
	for _, was := range h.Dropped {
		if was.To >= start {
			dropped = append(dropped, was)
		}
	}
	dropped = dropped.With(gone)
	if over := len(dropped) - layout.MaxDropped; over > 0 {
		dropped[over].From = dropped[0].From
		dropped = dropped[over:]
	}
	x.Tables.Active.Count(memtable.SpanCost * (len(dropped) - len(h.Dropped)))
	h.Dropped = dropped
	return nil
}

// pushed returns the seqs of the n messages below a seq, and those that moved ones were pushed with. None before the
// window's start need be among them. Where left is used up, all older seqs count.
func (x *shortening) pushed(start, below, n uint64, left int) (seqs layout.Spans, err error) {
	h := x.head
	all := layout.Span{From: h.First, To: below - 1}
	runs := h.Moves.Runs
	if i := runs.Reaching(all.From); n == all.Len() && (i == len(runs) || runs[i].From > all.To) {
		return layout.Spans{all}, nil // none was removed or moved
	}
	var moved []string // ids
	if err := x.view.Newest(memtable.AnySide, all.To, func(r *layout.Record) bool {
		switch last := len(seqs) - 1; {
		case r.Seq < start:
			return false
		case left <= 0:
			seqs = append(seqs, layout.Span{From: start, To: r.Seq})
			return false
		case last >= 0 && seqs[last].From == r.Seq+1:
			seqs[last].From = r.Seq
		default:
			seqs = append(seqs, layout.Span{From: r.Seq, To: r.Seq})
		}
		left = x.pass(left, r)
		if r.ID != "" && runs.Has(r.Seq) {
			moved = append(moved, strings.Clone(r.ID))
		}
		return true
	}); err != nil {
		return nil, err
	}
	slices.Reverse(seqs)
	before, err := x.pushedAs(moved)
	return seqs.With(before), err
}

// pushedAs returns the seqs of the messages that are remembered to have been pushed with some ids.
func (x *shortening) pushedAs(ids []string) (seqs layout.Spans, err error) {
	for _, id := range ids {
		rec, ok, err := x.IDs.Find(x.head, id)
		if err != nil {
			return nil, err
		}
		if ok {
			seqs = append(seqs, layout.Span{From: rec.Seq, To: rec.Seq})
		}
	}
	slices.SortFunc(seqs, func(a, b layout.Span) int { return cmp.Compare(a.From, b.From) })
	return seqs, nil
}

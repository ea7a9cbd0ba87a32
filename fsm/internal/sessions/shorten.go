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
	x := shortening{Operations: s, head: h, view: v, whole: s.Allowance.Shortening == cost.EntryShortening}
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
	head *memtable.Head
	view memtable.View
	// whole: nothing of what the entry may cost had been used before.
	whole bool
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
func pass(left int, r *layout.Record) int { return left - cost.Passed - len(r.Data) }

// keepNewest finds what to keep, from the newest message on, and drops the rest. It is not done if that would
// take half of what the entry may cost.
func (x *shortening) keepNewest() (done bool, err error) {
	h, kept, spare := x.head, memtable.Removal{}, 0
	reserve := x.Allowance.Shortening / 2
	left := x.Allowance.Shortening - reserve
	if err := x.view.Newest(memtable.AnySide, layout.MaxSeq, func(r *layout.Record) bool {
		if x.suffices(&kept, r.Seq) {
			if done = !kept.Inside || spare == turn.ToolReach; done {
				return false
			}
			spare++
		}
		kept.Add(r)
		left = pass(left, r)
		return left > 0
	}); err != nil {
		return false, err
	}
	if x.Allowance.Shortening = reserve + max(left, 0); !done {
		return false, nil
	}
	left, err = x.noteDropped(kept.Lowest, h.Count()-kept.Count(), x.Allowance.Shortening)
	if err != nil {
		return false, err
	}
	x.Allowance.Shortening = max(left, 0)
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
	h := x.head
	left := x.Allowance.Shortening
	over := h.Count() // of messages
	if n := h.Retention.Messages; n > 0 {
		over -= n
	}
	var passed, gone memtable.Removal
	if err := x.view.Oldest(memtable.AnySide, h.First, func(r *layout.Record) bool {
		if !r.Inside {
			gone = passed
		}
		if passed.Count() == over || h.Retention.Turns > 0 && r.Seq >= h.Turns[0] || left <= 0 {
			return false
		}
		passed.Add(r)
		left = pass(left, r)
		return true
	}); err != nil {
		return err
	}
	x.Allowance.Shortening = max(left, 0)
	switch n := passed.Count(); {
	case n > gone.Count()+turn.ToolReach:
		forced, err := x.view.Pass(memtable.AnySide, 0, n-turn.ToolReach, h.Count())
		if err != nil {
			return err
		}
		gone = forced
		x.Allowance.Shortening = max(left-cost.Passed*int(gone.Count())-int(gone.Bytes), 0)
	case gone.Lowest == 0 && left <= 0 && x.whole:
		gone = passed // more was never looked at for a call
	}
	if gone.Lowest == 0 {
		return nil
	}
	paid := cost.Passed*int(gone.Count()) + int(gone.Bytes) // to pass them once more costs no more than that
	if _, err := x.noteDropped(gone.Highest+1, gone.Count(), paid); err != nil {
		return err
	}
	x.drop(h, memtable.AnySide, true, gone)
	return x.findFirst(h)
}

// noteDropped notes that all messages below a seq, n, are about to be dropped by the retention, for pushes that come
// again. To look at them may cost left, of which it returns the rest.
func (x *shortening) noteDropped(below, n uint64, left int) (rest int, err error) {
	h := x.head
	if h.LastID == 0 {
		return left, nil
	}
	start := h.Moves.WindowStart(h.Last)
	gone, rest, err := x.pushed(start, below, n, left)
	if err != nil {
		return rest, err
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
	x.Tables.Active.Count(memtable.SpanCost * len(dropped))
	h.Dropped = dropped
	return rest, nil
}

// pushed returns the seqs of the n messages below a seq, and those that moved ones were pushed with. None before the
// window's start need be among them. It returns what it leaves of left; where that is used up, all older seqs count.
func (x *shortening) pushed(start, below, n uint64, left int) (seqs layout.Spans, rest int, err error) {
	h := x.head
	all := layout.Span{From: h.First, To: below - 1}
	runs := h.Moves.Runs
	if i := runs.Reaching(all.From); n == all.Len() && (i == len(runs) || runs[i].From > all.To) {
		return layout.Spans{all}, left, nil // none was removed or moved
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
		left = pass(left, r)
		if r.ID != "" && runs.Has(r.Seq) {
			moved = append(moved, strings.Clone(r.ID))
		}
		return true
	}); err != nil {
		return nil, left, err
	}
	slices.Reverse(seqs)
	before, err := x.pushedAs(moved)
	return seqs.With(before), left, err
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

// findFirst sets the seq of the oldest message that an owned head has left.
func (s *Operations) findFirst(h *memtable.Head) error {
	v, err := s.View(h)
	if err != nil {
		return err
	}
	found := false
	if err := v.Oldest(memtable.AnySide, h.First, func(r *layout.Record) bool {
		h.First, found = r.Seq, true
		return false
	}); err != nil {
		return err
	}
	if !found {
		return layout.HeadCountsMore(h.Inc)
	}
	return nil
}

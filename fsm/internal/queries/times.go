package queries

import (
	"slices"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

// readTimes is read for messages of a range of times. It finds the seqs that bound the range by
// bisection, and then walks through nothing else.
func (a answerer) readTimes(q *turn.Read, h *memtable.Head, v *memtable.View, r *turn.Result) error {
	from, end, err := TimeRange(q, h, v)
	if err != nil {
		return err
	}
	switch {
	case q.From == turn.FromBefore:
		end = min(end, q.Seq)
	case q.From == turn.FromAfter && q.Seq >= end:
		return nil
	case q.From == turn.FromAfter:
		from = max(from, q.Seq+1)
	}
	if from >= end {
		return nil
	}
	newest := q.From != turn.FromAfter
	walk := func(fn func(*layout.Record) bool) error {
		within := func(rec *layout.Record) bool { return from <= rec.Seq && rec.Seq < end && fn(rec) }
		if newest {
			return v.Newest(memtable.AnySide, end-1, within)
		}
		return v.Oldest(memtable.AnySide, from, within)
	}
	if budgeted(q) {
		return a.readBudget(q, newest, walk, r)
	}
	g := gather{limit: a.limit(q), space: a.space()}
	err = walk(g.take)
	if newest {
		slices.Reverse(g.records)
	}
	r.Messages, r.More = messages(g.records), g.cut
	return err
}

// TimeRange returns the seq of the first message with a time of at least q.Since, and that of the
// first one, or the next to be given, with a time of at least q.Until.
func TimeRange(q *turn.Read, h *memtable.Head, v *memtable.View) (from, end uint64, err error) {
	end = h.Last + 1
	if q.Until > 0 {
		if end, err = firstSince(v, h.First, end, q.Until); err != nil {
			return 0, 0, err
		}
	}
	from, err = firstSince(v, h.First, end, q.Since)
	return from, end, err
}

// firstSince returns the lowest seq in [low, high) from which on messages have a time of at least t;
// high if there is none. Each probe reads one message, whatever was removed around it.
func firstSince(v *memtable.View, low, high uint64, t int64) (uint64, error) {
	for low < high {
		middle := low + (high-low)/2
		seq, time := high, t
		if err := v.Oldest(memtable.AnySide, middle, func(rec *layout.Record) bool {
			seq, time = rec.Seq, rec.Time
			return false
		}); err != nil {
			return 0, err
		}
		if seq < high && time < t {
			low = seq + 1
		} else {
			high = middle
		}
	}
	return low, nil
}

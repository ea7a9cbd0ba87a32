package queries

import (
	"slices"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

func (a answerer) read(q *turn.Read, h *memtable.Head, v *memtable.View, r *turn.Result) error {
	newest := q.From != turn.FromAfter
	if q.Since > 0 || q.Until > 0 {
		return a.readTimes(q, h, v, r)
	}
	walk := func(fn func(*layout.Record) bool) error {
		switch {
		case q.From == turn.FromLast:
			return v.Newest(memtable.AnySide, layout.MaxSeq, fn)
		case q.From == turn.FromBefore && q.Seq > 0:
			return v.Newest(memtable.AnySide, q.Seq-1, fn)
		case q.From == turn.FromAfter && q.Seq < h.Last:
			return v.Oldest(memtable.AnySide, q.Seq+1, fn)
		}
		return nil
	}
	if budgeted(q) {
		return a.readBudget(q, newest, walk, r)
	}
	g := gather{limit: a.limit(q), space: a.space(), records: make([]layout.Record, 0, min(max(q.Limit, 1), 64))}
	if err := walk(g.take); err != nil {
		return err
	}
	all := q.From == turn.FromLast || q.From == turn.FromAfter && q.Seq == 0
	if all && !g.cut && !v.Over() && uint64(len(g.records)) != h.Count() {
		return layout.HeadCountsMore(h.Inc)
	}
	if newest {
		slices.Reverse(g.records)
	}
	r.Messages, r.More = messages(g.records), g.cut
	return nil
}

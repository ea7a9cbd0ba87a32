package fsm

import (
	"errors"
	"iter"
	"slices"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/fsm/internal/values"
	"github.com/turnlog/turnlog/turn"
)

// Query answers from the state as of the last entry applied. Payloads of the
// answer must not be written to.
func (m *Machine) Query(q turn.Query) (turn.Result, error) {
	var r turn.Result
	if err := store.Guarded(func() error { return access{m, false}.answer(q, &r) }); err != nil {
		m.damaged(err)
		if errors.Is(err, ErrHalted) { // a *turn.Error is in the chain, too, but knows nothing of that
			return turn.Result{}, err
		}
		return turn.Result{}, turn.AsError(err)
	}
	return r, nil
}

// answer answers a query.
func (a access) answer(q turn.Query, r *turn.Result) error {
	switch q := q.(type) {
	case *turn.Read:
		return a.session(q.Key, r, func(_ *memtable.Head, v *memtable.View) bool { return v.HoldsRead(q) },
			func(h *memtable.Head, v *memtable.View) error { return a.read(q, h, v, r) })
	case *turn.List:
		return a.session(q.Key, r, func(h *memtable.Head, v *memtable.View) bool { return v.HoldsList(q, h) },
			func(h *memtable.Head, v *memtable.View) error { return a.listPart(q, h, v, r) })
	case *turn.Info:
		return a.session(q.Key, r, nil, nil)
	case *turn.Sessions:
		if len(q.Labels) > 0 {
			return a.labelled(q, r)
		}
		return a.listing(q, r)
	case *turn.Count:
		return a.eachPart(r, func(*store.Reading) (bool, error) {
			r.Count = a.keys.namespaces.keys(q.Namespace)
			return true, nil
		})
	}
	if x, ok := values.Asks(q); ok {
		return a.ofValue(q, x, r)
	}
	return turn.Errorf(turn.Invalid, "query %T is unknown", q)
}

// ofValue answers a query about a value.
func (a access) ofValue(q turn.Query, x values.Question, r *turn.Result) error {
	mode := ranges
	if 0 < x.Names && x.Names <= maxByName {
		mode = byName
	}
	err := a.value(x.Key, x.Type, mode, r, func(e *memtable.Elements) error {
		return values.Answer(q, e, a.readBytes(), r)
	})
	if err == nil && r.Session == nil {
		values.Absent(q, r)
	}
	return err
}

func (a access) read(q *turn.Read, h *memtable.Head, v *memtable.View, r *turn.Result) error {
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
	g := gather{limit: q.Limit, bytes: a.readBytes(), records: make([]layout.Record, 0, min(max(q.Limit, 1), 64))}
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

func budgeted(q *turn.Read) bool { return q.Whole || q.MaxBytes > 0 || q.MaxTokens > 0 }

// readBudget is read under a budget, which keeps tool calls and results together.
func (a access) readBudget(q *turn.Read, newest bool, walk func(func(*layout.Record) bool) error,
	r *turn.Result) (err error) {
	next, stop := iter.Pull(func(yield func(turn.Message) bool) { // on a stack of its own
		err = store.Guarded(func() error { return walk(func(rec *layout.Record) bool { return yield(rec.Message()) }) })
	})
	b := turn.Budget{Messages: q.Limit, Bytes: int64(a.readBytes()), Tokens: q.MaxTokens}
	if q.MaxBytes > 0 {
		b.Bytes = min(b.Bytes, q.MaxBytes)
	}
	r.Messages, r.More = b.Take(newest, next)
	stop()
	return err
}

// gather takes records until there are enough of them or of their bytes, but
// one at least.
type gather struct {
	limit   int // 0: none
	bytes   int
	records []layout.Record
	cut     bool
}

func (g *gather) take(r *layout.Record) bool {
	g.bytes -= len(r.Data)
	if len(g.records) > 0 && g.bytes < 0 || g.limit > 0 && len(g.records) == g.limit {
		g.cut = true
		return false
	}
	g.records = append(g.records, *r)
	return true
}

// messages returns records as callers see them; borrowed payloads are copied,
// into one piece of memory.
func messages(rs []layout.Record) []turn.Message {
	borrowed := 0
	for i := range rs {
		if rs[i].Borrowed {
			borrowed += len(rs[i].Data)
		}
	}
	space := make([]byte, 0, borrowed)
	out := make([]turn.Message, len(rs))
	for i := range rs {
		r := &rs[i]
		data := r.Data
		if r.Borrowed {
			at := len(space)
			space = append(space, data...)
			data = space[at:len(space):len(space)]
		}
		out[i] = turn.Message{Seq: r.Seq, Time: r.Time, ID: r.ID, Data: data}
	}
	return out
}

// listPart reads a range of the session as a Redis list: the head side from its
// highest seq down, then the tail side from its lowest up.
func (a access) listPart(q *turn.List, h *memtable.Head, v *memtable.View, r *turn.Result) error {
	first, n := values.Range(q.Start, q.Stop, h.Count())
	room := a.readBytes()
	fits := func(rec *layout.Record) bool {
		room -= len(rec.Data)
		return room >= 0
	}
	heads, tails := h.Live[turn.Head], h.Live[turn.Tail]
	skip := min(first, heads) // of the head side, at the top
	fromHead := min(n, heads-skip)
	left, err := v.RanksWhile(turn.Head, heads-skip-fromHead, fromHead, heads, fits)
	if err != nil {
		return err
	}
	if room < 0 {
		return values.RangeTooLong(a.readBytes())
	}
	slices.Reverse(left)
	right, err := v.RanksWhile(turn.Tail, first-skip, n-fromHead, tails, fits)
	if err != nil {
		return err
	}
	if room < 0 {
		return values.RangeTooLong(a.readBytes())
	}
	r.Messages = messages(append(left, right...))
	return nil
}

package sessions

import (
	"slices"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/internal/toolcalls"
	"github.com/turnlog/turnlog/turn"
)

func (l lists) popFirst(o *turn.PopFirst, r *turn.Result) error {
	for i, k := range o.Keys {
		h, err := l.list(layout.JoinKey(k))
		if err != nil {
			return err
		}
		if h != nil {
			r.Found, r.Number = true, int64(i)
			return l.pop(&turn.Pop{Key: k, From: o.From, Count: o.Count, List: true}, r)
		}
	}
	return nil
}

func (l lists) moveElement(o *turn.MoveElement, r *turn.Result) error {
	key, to := layout.JoinKey(o.Key), layout.JoinKey(o.To)
	h, err := l.list(key)
	if h == nil || err != nil {
		return err
	}
	target, err := l.session(to)
	if err != nil {
		return err
	}
	if err := l.AffordPop(h, o.From, 1); err != nil {
		return err
	}
	h = l.Own(key, h)
	before, open := h.Count(), h.Open
	taken, err := l.TakeFrom(h, o.From, 1)
	if err != nil {
		return err
	}
	l.Allowance.TookOut(taken)
	taken[0] = taken[0].Copied()
	data := taken[0].Data
	r.Found, r.Messages = true, []turn.Message{taken[0].Message()}
	if key == to {
		l.putBack(h, o.On, &taken[0], open)
		return l.settle(key, h, before, true)
	}
	if err := l.settle(key, h, before, true); err != nil {
		return err
	}
	l.bring(data)
	return l.extend(to, target, &turn.Append{Messages: []turn.NewMessage{{Data: data}}, Side: o.On}, new(turn.Result))
}

// putBack puts a message that was taken out of the list of an owned head on a side of it. What waited for results
// before waits on there.
func (l lists) putBack(h *memtable.Head, on turn.Side, taken *layout.Record, waited []layout.OpenCall) {
	var its []layout.OpenCall
	unknown := false
	for _, c := range waited {
		switch {
		case c.ID == 0:
			unknown = unknown || c.Seq >= taken.Seq
		case c.Seq == taken.Seq:
			its = append(its, layout.OpenCall{Seq: h.Last + 1, ID: c.ID})
		}
	}
	l.keepCalls(h, func(c layout.OpenCall) bool { return c.Seq != taken.Seq || c.ID == 0 })
	l.replaceRun(h, []layout.Record{{Time: l.Meta.Clock, Data: taken.Data, Side: on, Inside: waits(h)}})
	if len(its) > 0 {
		l.setOpen(h, slices.Concat(h.Open, its))
	}
	if unknown {
		l.reopen(h)
	}
}

// bring has an entry bring a payload of the state, which is looked at for calls where they are noted.
func (l lists) bring(data []byte) {
	if l.Meta.Level < turn.Level2 || !toolcalls.Mentioned(data) {
		return
	}
	l.Allowance.Take(uint64(len(data)))
	l.calls.find(data)
}

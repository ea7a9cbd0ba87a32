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

func (l lists) pushOnce(o *turn.PushOnce, r *turn.Result) error {
	key := layout.JoinKey(o.Key)
	h, err := l.session(key)
	if err != nil || o.OnlyExisting && !h.Held() {
		return err
	}
	if h.Held() {
		if again, err := l.repeated(h, o.Messages, r); again || err != nil {
			return err
		}
	}
	return l.extend(key, h, &turn.Append{Messages: o.Messages, Side: o.Side}, r)
}

// bring has an entry bring a payload of the state, which is looked at for calls where they are noted.
func (l lists) bring(data []byte) {
	if l.Meta.Level < turn.Level2 || !toolcalls.Mentioned(data) {
		return
	}
	l.Allowance.Take(uint64(len(data)))
	l.calls.find(data)
}

// repeated is duplicate among the messages that the session holds, or would hold but for its retention.
func (l lists) repeated(h *memtable.Head, ms []turn.NewMessage, r *turn.Result) (bool, error) {
	live, err := l.View(h)
	if err != nil {
		return false, err
	}
	l.Allowance.Bound(&live)
	var seqs []uint64
	var revision uint64
	for i := range ms {
		if ms[i].ID == "" {
			continue
		}
		rec, ok, err := l.IDs.Find(h, ms[i].ID)
		there := ok && live.Live(&rec)
		if err == nil && ok && !there {
			if there = h.Dropped.Has(rec.Seq); !there {
				_, there, err = live.MovedTo(h.Moves, rec.Seq, rec.ID)
			}
		}
		switch {
		case err != nil:
			return false, err
		case !there:
		case !rec.Carries(ms[i].Data):
			return false, turn.Errorf(turn.IDReused, "id %q belongs to message %d, which has another payload",
				ms[i].ID, rec.Seq)
		default:
			seqs, revision = append(seqs, rec.Seq), rec.Revision
		}
	}
	if err := l.Allowance.Searched(&live); err != nil {
		return false, err
	}
	n := uint64(len(seqs))
	switch {
	case n == 0:
		return false, nil
	case n < uint64(len(ms)) || !contiguous(seqs):
		e := turn.Errorf(turn.Conflict, "%d of the %d messages are known by their ids, but not as one append",
			n, len(ms))
		e.Revision = h.Revision
		return false, e
	}
	r.First, r.Last, r.Duplicate = seqs[0], seqs[n-1], true
	r.Revision, r.Count = revision, h.Count()
	return true, nil
}

func contiguous(seqs []uint64) bool {
	for i := range seqs {
		if seqs[i] != seqs[0]+uint64(i) {
			return false
		}
	}
	return true
}

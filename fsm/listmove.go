package fsm

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
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
	if err := l.affordPop(h, o.From, 1); err != nil {
		return err
	}
	h = l.Own(key, h)
	before := h.Count()
	taken, err := l.takeFrom(h, o.From, 1)
	if err != nil {
		return err
	}
	l.allowance.tookOut(taken)
	taken[0] = taken[0].Copied()
	data := taken[0].Data
	r.Found, r.Messages = true, []turn.Message{taken[0].Message()}
	if key == to {
		l.replaceRun(h, []layout.Record{{Time: l.meta.Clock, Data: data, Side: o.On}})
		return l.settle(key, h, before, true)
	}
	if err := l.settle(key, h, before, true); err != nil {
		return err
	}
	return l.extend(to, target, &turn.Append{Messages: []turn.NewMessage{{Data: data}}, Side: o.On}, new(turn.Result))
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

// repeated is duplicate among the messages that the session holds.
func (l lists) repeated(h *memtable.Head, ms []turn.NewMessage, r *turn.Result) (bool, error) {
	live, err := l.view(h)
	if err != nil {
		return false, err
	}
	l.allowance.bound(&live)
	var seqs []uint64
	var revision uint64
	for i := range ms {
		if ms[i].ID == "" {
			continue
		}
		rec, ok, err := l.ids.lookupIn(l.ids.windows.Of(h.Inc, h.Window), rememberedOf(h), ms[i].ID)
		there := ok && live.Live(&rec)
		if err == nil && ok && !there {
			_, there, err = live.MovedTo(h.Moves, rec.Seq, rec.ID)
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
	if err := l.allowance.searched(&live); err != nil {
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

package queries

import (
	"slices"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/fsm/internal/values"
	"github.com/turnlog/turnlog/turn"
)

// listPart reads a range of the session as a Redis list: the head side from its
// highest seq down, then the tail side from its lowest up.
func (a answerer) listPart(q *turn.List, h *memtable.Head, v *memtable.View, r *turn.Result) error {
	first, n := values.Range(q.Start, q.Stop, h.Count())
	if most := uint64(a.ReadMessages()); n > most {
		return turn.Errorf(turn.TooLarge, "the range has %d elements, and one answer %d at most; read it in parts", n,
			most)
	}
	space, long := a.space(), false
	fits := func(rec *layout.Record) bool {
		long = !space.take(rec)
		return !long
	}
	heads, tails := h.Live[turn.Head], h.Live[turn.Tail]
	skip := min(first, heads) // of the head side, at the top
	fromHead := min(n, heads-skip)
	left, err := v.RanksWhile(turn.Head, heads-skip-fromHead, fromHead, heads, fits)
	if err != nil {
		return err
	}
	if long {
		return a.tooLong(space)
	}
	slices.Reverse(left)
	right, err := v.RanksWhile(turn.Tail, first-skip, n-fromHead, tails, fits)
	if err != nil {
		return err
	}
	if long {
		return a.tooLong(space)
	}
	r.Messages = messages(append(left, right...))
	return nil
}

// tooLong is the error for a range that does not fit an answer.
func (a answerer) tooLong(left space) error {
	if left.payload < 0 {
		return values.RangeTooLong(a.ReadBytes())
	}
	return values.RangeTooLong(a.AnswerBytes())
}

package values

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

// mostTaken is how many bytes of memory the members may take that one operation removes from
// a sorted set, and passedElement what one costs that it only passes. They decide what the
// state is, so that they must stay as they are.
const (
	mostTaken     = 32 << 20
	passedElement = 16
)

// removeScores reads the members before it removes any: a removal is whole, or refused.
func (v ops) removeScores(o *turn.RemoveScores, r *turn.Result) error {
	key := layout.JoinKey(o.Of.Key)
	h, err := v.value(key, turn.TypeZSet)
	if h == nil || err != nil {
		return err
	}
	taken, err := v.membersOf(h, &o.Of)
	if err != nil {
		return err
	}
	if len(taken) == 0 {
		r.Count, r.Revision = h.Count(), h.Revision
		return nil
	}
	h = v.Own(key, h)
	for _, el := range taken {
		v.takeScored(h, el.Name, el.Score)
	}
	r.Removed = uint64(len(taken))
	if o.Answer {
		r.Elements = taken
	}
	v.settle(key, h, true, r)
	return nil
}

// membersOf reads a range of members, and pays for it and for their removal. What is refused
// uses up the rest of what the entry may cost, so that not as much is read again and again.
func (v ops) membersOf(h *memtable.Head, q *turn.Scores) ([]turn.Element, error) {
	if err := v.Spend(1); err != nil {
		return nil, err
	}
	e, err := v.Elements(h)
	if err != nil {
		return nil, err
	}
	found := turn.Result{Count: h.Count()}
	err = scores(q, &e, mostTaken, &found)
	cost := passedElement * e.Passed
	for i := range found.Elements {
		cost += 2 * uint64(memtable.ElementCost+len(found.Elements[i].Name))
	}
	if paid := v.Spend(cost); err == nil {
		err = paid
	}
	if turn.KindOf(err) == turn.TooLarge {
		err = turn.Errorf(turn.TooLarge, "the range has more members than one operation may remove; remove it in parts")
	}
	return found.Elements, err
}

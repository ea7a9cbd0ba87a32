package transaction

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/sessions"
	"github.com/turnlog/turnlog/turn"
)

// whole applies transactions that take place as a whole.
type whole struct{ *sessions.Operations }

// apply applies a transaction that takes place as a whole. Nothing is ever undone: what
// can refuse a step is looked at before the first one takes place.
func (s whole) apply(o *turn.Tx, r *turn.Result) error {
	if known, err := s.answered(o, r); known || err != nil {
		return err
	}
	for i := range o.Conditions {
		if err := s.holds(&o.Conditions[i]); err != nil {
			return failedAt(err, i+1, 0)
		}
	}
	p := plan{Operations: s.Operations, conditions: o.Conditions, keys: make(map[string]*planned)}
	ready := make([]sessions.Ready, len(o.Steps))
	for i := range o.Steps {
		var err error
		if ready[i], err = p.step(o.Steps[i].Op); err != nil {
			return failedAt(err, 0, i+1)
		}
	}
	// No step's cost is left to what the steps before it leave.
	if err := s.Allowance.Reserve(p.cost); err != nil {
		return err
	}
	defer func() { _ = s.Allowance.Reserve(0) }()
	r.Steps = make([]turn.Outcome, len(o.Steps))
	for i := range o.Steps {
		if err := ready[i](&r.Steps[i].Result); err != nil {
			refused, ok := layout.Refusal(err)
			if !ok {
				return err
			}
			return turn.Errorf(turn.Unknown, "defect: a transaction took place in part: step %d, which was found to "+
				"be possible, was refused: %v", i+1, refused)
		}
	}
	r.Revision = s.Revision(layout.JoinKey(turn.Key{Namespace: o.Namespace()}))
	return s.remember(o, r)
}

// failedAt says which condition or step of a transaction an error is of.
func failedAt(err error, condition, step int) error {
	refused, ok := layout.Refusal(err)
	if !ok {
		return err
	}
	e := *refused
	e.Condition, e.Step = condition, step
	return &e
}

// holds returns an error if a condition does not hold.
func (s whole) holds(c *turn.Condition) error {
	h, err := s.Find(layout.JoinKey(c.Key))
	if err != nil {
		return err
	}
	var refused *turn.Error
	switch {
	case c.Is == turn.AtRevision:
		return sessions.CheckExpect(&c.N, h)
	case c.Is == turn.AtSeq && h.CheckType(turn.TypeList) != nil:
		return h.CheckType(turn.TypeList)
	case c.Is == turn.AtSeq && h == nil && c.N > 0:
		refused = turn.Errorf(turn.Conflict, "the session does not exist, its expected seq was %d", c.N)
	case c.Is == turn.AtSeq && h != nil && h.Last != c.N:
		refused = turn.Errorf(turn.Conflict, "the session's highest seq is %d, not %d", h.Last, c.N)
	case c.Is == turn.Present && h == nil:
		refused = turn.Errorf(turn.Conflict, "the key %.64q does not exist", c.Key.Name)
	case c.Is == turn.Absent && h != nil:
		refused = turn.Errorf(turn.Conflict, "the key %.64q exists, its revision is %d", c.Key.Name, h.Revision)
	default:
		return nil
	}
	if h != nil {
		refused.Revision = h.Revision
	}
	return refused
}

package transaction

import (
	"bytes"
	"crypto/sha256"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/sessions"
	"github.com/turnlog/turnlog/fsm/internal/values"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// whole applies transactions that take place as a whole.
type whole struct{ *sessions.Operations }

// apply applies a transaction that takes place as a whole. Nothing is ever undone: what
// can refuse a step is looked at before the first one takes place.
func (s whole) apply(o *turn.Tx, r *turn.Result) error {
	record := recordOf(o)
	if known, err := s.answered(record, o, r); known || err != nil {
		return err
	}
	for i := range o.Conditions {
		if err := s.holds(&o.Conditions[i]); err != nil {
			return failedAt(err, i+1, 0)
		}
	}
	p := plan{Operations: s.Operations, keys: make(map[string]*planned)}
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
	return s.remember(record, o, r)
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

// recordOf returns the key of the answer to a transaction, empty if it has no id.
func recordOf(o *turn.Tx) turn.Key {
	if o.ID == "" {
		return turn.Key{}
	}
	return turn.Key{Namespace: layout.TransactionsNamespace,
		Name: layout.JoinKey(turn.Key{Namespace: o.Namespace(), Name: o.ID})}
}

// digestSize is how much of an answer's record tells which transaction it is of.
const digestSize = 16

// digest tells transactions of one id from each other.
func digest(o *turn.Tx) ([]byte, error) {
	b, err := codec.EncodeOp(o)
	sum := sha256.Sum256(b)
	return sum[:digestSize], err
}

// answered looks for the answer to a transaction that took place before.
func (s whole) answered(record turn.Key, o *turn.Tx, r *turn.Result) (bool, error) {
	if record.Name == "" {
		return false, nil
	}
	h, err := s.Find(layout.JoinKey(record))
	if h == nil || err != nil {
		return false, err
	}
	e, err := s.Elements(h)
	if err != nil {
		return false, err
	}
	known, _, err := e.Get("")
	if err != nil {
		return false, err
	}
	sum, err := digest(o)
	if err != nil {
		return false, err
	}
	if !bytes.HasPrefix(known, sum) {
		return false, turn.Errorf(turn.IDReused, "the id %q belongs to another transaction", o.ID)
	}
	if *r, err = codec.DecodeResult(known[digestSize:]); err != nil {
		return false, err
	}
	r.Duplicate = true
	return true, nil
}

// remember keeps the answer to a transaction.
func (s whole) remember(record turn.Key, o *turn.Tx, r *turn.Result) error {
	if record.Name == "" {
		return nil
	}
	sum, err := digest(o)
	if err != nil {
		return err
	}
	answer, err := codec.EncodeResult(r)
	if err != nil {
		return err
	}
	return values.Apply(s.Keys, &turn.SetString{Key: record, Value: append(sum, answer...),
		TTL: turn.TransactionTime}, new(turn.Result))
}

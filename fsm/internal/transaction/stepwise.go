package transaction

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/fsm/internal/queries"
	"github.com/turnlog/turnlog/fsm/internal/sessions"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// stepwise applies transactions whose steps take place one by one, each or not.
type stepwise struct {
	*sessions.Operations
	index uint64 // of the entry
	left  int    // how many bytes queries may still answer with
}

// apply applies a transaction, unless a key that it watches has changed.
func (s *stepwise) apply(o *turn.Tx, r *turn.Result) error {
	for i := range o.Watch {
		h, err := s.Find(layout.JoinKey(o.Watch[i].Key))
		if err != nil {
			return err
		}
		revision := uint64(0)
		if h != nil {
			revision = h.Revision
		}
		if revision != o.Watch[i].Revision {
			r.Aborted = true
			return nil
		}
	}
	r.Steps = make([]turn.Outcome, len(o.Steps))
	s.left = s.state().ReadBytes()
	for i := range o.Steps {
		out := &r.Steps[i]
		err := s.step(&o.Steps[i], &out.Result)
		out.Result.Index, out.Result.Time = s.index, s.Meta.Clock
		if err == nil {
			continue
		}
		refused, ok := layout.Refusal(err)
		if !ok {
			return err
		}
		*out = turn.Outcome{Err: refused}
	}
	return nil
}

func (s *stepwise) state() State { return State{s.Keys} }

// step takes one step.
func (s *stepwise) step(x *turn.Step, r *turn.Result) error {
	if x.Query == nil {
		switch x.Op.(type) {
		case *turn.Tx, *codec.Tick, *codec.Epoch, *codec.Member, *codec.Checksum, *codec.SetLevel:
			return turn.Errorf(turn.Invalid, "%T cannot be a step of a transaction", x.Op)
		}
		return s.Apply(x.Op, r)
	}
	if err := queries.Answer(s.state(), x.Query, r); err != nil {
		return err
	}
	size := answerBytes(r)
	if s.left -= size; s.left < 0 {
		return turn.Errorf(turn.TooLarge, "the answers of the transaction have more than %d bytes",
			s.state().ReadBytes())
	}
	return s.Spend(uint64(size))
}

// sessionBytes is what a session counts for in an answer.
const sessionBytes = 400

// answerBytes estimates the size of a query's answer. What it counts with decides
// answers of transactions: nodes of every version must come to the same.
func answerBytes(r *turn.Result) int {
	n := len(r.Value) + sessionBytes*len(r.Sessions)
	for i := range r.Messages {
		n += memtable.RecordCost + len(r.Messages[i].ID) + len(r.Messages[i].Data)
	}
	for i := range r.Elements {
		n += memtable.ElementCost + len(r.Elements[i].Name) + len(r.Elements[i].Value)
	}
	for i := range r.Entries {
		for _, f := range r.Entries[i].Fields {
			n += memtable.ElementCost + len(f.Name) + len(f.Value)
		}
	}
	return n
}

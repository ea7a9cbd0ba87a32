package fsm

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

func (m *Machine) transact(index uint64, o *turn.Tx, r *turn.Result) error {
	for i := range o.Watch {
		h, err := m.keys.Find(layout.JoinKey(o.Watch[i].Key))
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
	a := access{m, true}
	left := a.readBytes()
	for i := range o.Steps {
		out := &r.Steps[i]
		err := a.step(index, &o.Steps[i], &out.Result, &left)
		out.Result.Index, out.Result.Time = index, m.keys.meta.Clock
		if err == nil {
			continue
		}
		refused, ok := refusal(err)
		if !ok {
			return err
		}
		*out = turn.Outcome{Err: refused}
	}
	return nil
}

// step takes one step. left is how many bytes queries may still answer with.
func (a access) step(index uint64, s *turn.Step, r *turn.Result, left *int) error {
	if s.Query == nil {
		switch s.Op.(type) {
		case *turn.Tx, *codec.Tick, *codec.Epoch, *codec.Member, *codec.Checksum, *codec.SetLevel:
			return turn.Errorf(turn.Invalid, "%T cannot be a step of a transaction", s.Op)
		}
		return a.applyOp(index, s.Op, r)
	}
	if err := a.answer(s.Query, r); err != nil {
		return err
	}
	size := answerBytes(r)
	if *left -= size; *left < 0 {
		return turn.Errorf(turn.TooLarge, "the answers of the transaction have more than %d bytes", a.readBytes())
	}
	return a.keys.allowance.spend(uint64(size))
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

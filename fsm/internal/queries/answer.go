// Package queries answers queries. It sees the state through a small interface, State, which has two implementations:
// the state machine, between entries; and, for a step of a transaction, the keys as the steps before have left them.
//
// It changes nothing, and holds no lock of its own: State says under which lock fn is called.
package queries

import (
	"github.com/turnlog/turnlog/fsm/internal/keyspace"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/fsm/internal/values"
	"github.com/turnlog/turnlog/turn"
)

// answerer answers queries about a state.
type answerer struct{ State }

// Answer answers a query about a state.
func Answer(s State, q turn.Query, r *turn.Result) error {
	a := answerer{s}
	switch q := q.(type) {
	case *turn.Read:
		return a.Session(q.Key, r, func(_ *memtable.Head, v *memtable.View) bool { return v.HoldsRead(q) },
			func(h *memtable.Head, v *memtable.View) error { return a.read(q, h, v, r) })
	case *turn.List:
		return a.Session(q.Key, r, func(h *memtable.Head, v *memtable.View) bool { return v.HoldsList(q, h) },
			func(h *memtable.Head, v *memtable.View) error { return a.listPart(q, h, v, r) })
	case *turn.Info:
		return a.Session(q.Key, r, nil, nil)
	case *turn.Sessions:
		if len(q.Labels) > 0 {
			return a.labelled(q, r)
		}
		return a.listing(q, r)
	case *turn.Lookup:
		return a.lookup(q, r)
	case *turn.CombineSets:
		return a.combined(q, r)
	case *turn.Count:
		return a.EachPart(r, func(ks *keyspace.Keys, _ *store.Reading) (bool, error) {
			r.Count = ks.CountIn(q.Namespace)
			return true, nil
		})
	}
	if x, ok := values.Asks(q); ok {
		return a.ofValue(q, x, r)
	}
	return turn.Errorf(turn.Invalid, "query %T is unknown", q)
}

// ofValue answers a query about a value.
func (a answerer) ofValue(q turn.Query, x values.Question, r *turn.Result) error {
	mode := Ranges
	if 0 < x.Names && x.Names <= maxByName {
		mode = ByName
	}
	err := a.Value(x.Key, x.Type, mode, r, func(e *memtable.Elements) error {
		return values.Answer(q, e, values.Bounds{Payload: a.ReadBytes(), Size: a.AnswerBytes()}, r)
	})
	if err == nil && r.Session == nil {
		values.Absent(q, r)
	}
	return err
}

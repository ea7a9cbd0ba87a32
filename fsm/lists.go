package fsm

import (
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/fsm/internal/values"
	"github.com/turnlog/turnlog/turn"
)

// lists applies the operations on sessions that only Redis has.
type lists struct{ *sessions }

// apply applies an operation. One that it does not know is of a value of another type.
func (l lists) apply(op turn.Op, r *turn.Result) error {
	switch o := op.(type) {
	case *turn.SetElement:
		return l.setElement(o, r)
	case *turn.InsertElement:
		return l.insertElement(o, r)
	case *turn.RemoveElements:
		return l.removeElements(o, r)
	case *turn.PopFirst:
		return l.popFirst(o, r)
	case *turn.MoveElement:
		return l.moveElement(o, r)
	case *turn.PushOnce:
		return l.pushOnce(o, r)
	}
	return values.Apply(l.keyspace, op, r)
}

// list is session for Redis's operations on lists, to which an empty one is none.
func (l lists) list(key string) (*memtable.Head, error) {
	h, err := l.session(key)
	if err != nil || !h.Held() {
		return nil, err
	}
	return h, nil
}

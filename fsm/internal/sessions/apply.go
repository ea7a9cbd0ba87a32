// Package sessions has what operations do on keys of any type, on sessions, and on sessions as Redis lists.
//
// An operation is a method of Operations, or of lists if only Redis has it, and a case of apply.go. It reads
// all that can refuse it, takes its cost off the allowance, and only then changes what clients see of the
// state: nothing is ever undone.
package sessions

import (
	"github.com/turnlog/turnlog/fsm/internal/values"
	"github.com/turnlog/turnlog/turn"
)

// Apply applies an operation. One that it does not know is of a list or another value.
func (s *Operations) Apply(op turn.Op, r *turn.Result) error {
	switch o := op.(type) {
	case *turn.Append:
		return s.append(o, r)
	case *turn.Pop:
		return s.pop(o, r)
	case *turn.Trim:
		return s.trim(o, r)
	case *turn.Replace:
		return s.replace(o, r)
	case *turn.Clear:
		return s.clear(o, r)
	case *turn.Delete:
		return s.delete(o, r)
	case *turn.Expire:
		return s.expire(o, r)
	case *turn.Fork:
		return s.fork(o, r)
	case *turn.Rename:
		return s.rename(o, r)
	case *turn.SetMetadata:
		return s.setMeta(o, r)
	case *turn.Erase:
		return s.erase(o, r)
	case *turn.EditMessage:
		return s.editMessage(o, r)
	case *turn.RemoveMessage:
		return s.removeMessage(o, r)
	case *turn.Retain:
		return s.retain(o, r)
	}
	return lists{s}.apply(op, r)
}

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
	return values.Apply(l.Keys, op, r)
}

package fsm

import (
	"github.com/turnlog/turnlog/fsm/internal/values"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// applyOp applies an operation: those on the cluster here, those on keys by their type.
func (m *Machine) applyOp(index uint64, op turn.Op, r *turn.Result) error {
	switch o := op.(type) {
	case *codec.Tick:
		return nil
	case *codec.Epoch:
		m.epoch(o)
		return nil
	case *codec.Member:
		return m.member(o)
	case *codec.SetLevel:
		return m.setLevel(o)
	case *codec.Checksum:
		m.hash.wanted = index
		return nil
	case *turn.Tx:
		if o.All {
			return m.sessions.transactAll(o, r)
		}
		return m.transact(index, o, r)
	}
	return m.sessions.apply(op, r)
}

// apply applies an operation. One that it does not know is of a list or another value.
func (s *sessions) apply(op turn.Op, r *turn.Result) error {
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
	case *turn.SetMetadata:
		return s.setMeta(o, r)
	case *turn.Erase:
		return s.erase(o, r)
	case *turn.EditMessage:
		return s.editMessage(o, r)
	case *turn.RemoveMessage:
		return s.removeMessage(o, r)
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
	return values.Apply(l.keyspace, op, r)
}

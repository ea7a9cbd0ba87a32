package sessions

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

// Ready carries out an operation of a transaction that takes place as a whole. The operation was found to be
// possible and is paid for: it is refused no more, whatever is left of the allowance.
type Ready func(*turn.Result) error

// Plain is an operation that costs nothing, or what is reserved for it.
func (s *Operations) Plain(op turn.Op) Ready {
	return func(r *turn.Result) error { return s.Apply(op, r) }
}

// ReadyPop looks at what a pop takes out of a session, nil if there is none: messages of size bytes, each counted as
// its copy costs.
func (s *Operations) ReadyPop(o *turn.Pop, h *memtable.Head) (_ Ready, size uint64, err error) {
	if h != nil && h.Count() > 0 {
		if err := s.Allowance.Search(); err != nil {
			return nil, 0, err
		}
		copies, others, err := s.costOfPop(h, o.From, min(o.Count, h.Count()))
		if err == nil {
			err = s.Allowance.Spend(copies + others)
		}
		if err != nil {
			return nil, 0, err
		}
		size = copies
	}
	key := layout.JoinKey(o.Key)
	return func(r *turn.Result) error {
		h, err := s.session(key)
		if err != nil {
			return err
		}
		return s.popFrom(key, h, o, r, true)
	}, size, nil
}

// Message finds a message that a session holds.
func (s *Operations) Message(h *memtable.Head, m turn.MessageRef) (seq uint64, ok bool, err error) {
	rec, ok, err := s.message(h, m)
	return rec.Seq, ok, err
}

// ReadyEdit edits the message with a seq.
func (s *Operations) ReadyEdit(o *turn.EditMessage, seq uint64) Ready {
	key := layout.JoinKey(o.Key)
	return func(r *turn.Result) error {
		h, rec, ok, err := s.messageAt(key, seq)
		if err == nil && !ok {
			err = turn.Errorf(turn.NotFound, "the session holds no such message")
		}
		if err != nil {
			return err
		}
		s.edit(key, h, &rec, o.Data, r)
		return nil
	}
}

// ReadyRemove removes the message with a seq, if there is one.
func (s *Operations) ReadyRemove(o *turn.RemoveMessage, seq uint64) Ready {
	key := layout.JoinKey(o.Key)
	return func(r *turn.Result) error {
		h, rec, ok, err := s.messageAt(key, seq)
		switch {
		case h == nil || err != nil:
			return err
		case !ok:
			r.Count, r.Revision = h.Count(), h.Revision
			return nil
		}
		return s.removeOne(key, h, &rec, r)
	}
}

// ReadyReplace looks at the ids of what a replace brings to a session, whose head is h, nil if there is none. It is
// refused if it took place before: the transaction is another than that time. holds: it is at a revision that the
// transaction expected.
func (s *Operations) ReadyReplace(o *turn.Replace, h *memtable.Head, holds bool) (Ready, error) {
	key := layout.JoinKey(o.Key)
	var then turn.Result
	b, again, err := s.replacedBefore(key, h, o, holds, &then)
	if again {
		err = conflictAt(h, "the messages were stored before, as messages %d to %d", then.First, then.Last)
	}
	if err != nil {
		return nil, err
	}
	return func(r *turn.Result) error {
		h, err := s.session(key)
		if err != nil {
			return err
		}
		return s.replaceFrom(key, h, o, b, r)
	}, nil
}

// messageAt finds the message with a seq that a session holds.
func (s *Operations) messageAt(key string, seq uint64) (h *memtable.Head, rec layout.Record, ok bool, err error) {
	if h, err = s.session(key); h == nil || err != nil || h.Count() == 0 {
		return h, rec, false, err
	}
	v, err := s.View(h)
	if err != nil {
		return h, rec, false, err
	}
	rec, ok, err = v.Find(seq)
	return h, rec, ok && v.Live(&rec), err
}

// ReadyRetain finds the turns that a session, nil if there is none, is to keep.
func (s *Operations) ReadyRetain(o *turn.Retain, h *memtable.Head) (Ready, error) {
	turns, err := s.turnsFor(h, o.Keep)
	if err != nil {
		return nil, err
	}
	key := layout.JoinKey(o.Key)
	return func(r *turn.Result) error {
		h, err := s.session(key)
		if err != nil || h == nil && o.Keep == (turn.Retention{}) {
			return err
		}
		return s.retainFrom(key, h, o, turns, r)
	}, nil
}

// ReadyRename reads what a key holds that is to be renamed.
func (s *Operations) ReadyRename(o *turn.Rename) (Ready, error) {
	x, err := s.renaming(o)
	if err != nil {
		return nil, err
	}
	return func(r *turn.Result) error { return s.finishRename(o, &x, r) }, nil
}

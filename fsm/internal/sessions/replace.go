package sessions

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

func (s *Operations) replace(o *turn.Replace, r *turn.Result) error {
	key := layout.JoinKey(o.Key)
	h, err := s.session(key)
	if err != nil {
		return err
	}
	if again, err := s.replacedBefore(key, h, o, r); again || err != nil {
		return err
	}
	if err := CheckExpect(o.Expect, h); err != nil {
		return err
	}
	return s.replaceFrom(key, h, o, r)
}

// replaceFrom is replace for messages whose ids were looked at; h is nil if there is no session.
func (s *Operations) replaceFrom(key string, h *memtable.Head, o *turn.Replace, r *turn.Result) error {
	if h == nil {
		return turn.Errorf(turn.NotFound, "the session does not exist")
	}
	v, err := s.View(h)
	if err != nil {
		return err
	}
	gone, err := v.From(o.From, h.Count())
	if err != nil {
		return err
	}
	if gone.Lowest == 0 && len(o.Messages) == 0 {
		r.Count, r.Revision = h.Count(), h.Revision
		return nil
	}
	h = s.Own(key, h)
	before := h.Count()
	s.drop(h, memtable.AnySide, false, gone)
	if h.Count() == 0 {
		h.First = 0
	}
	if err := s.endTurns(h); err != nil {
		return err
	}
	s.CountKey(key, before > 0, h.Held())
	r.Removed = gone.Live[turn.Tail] + gone.Live[turn.Head]
	if len(o.Messages) > 0 {
		s.push(key, h, o.Messages, turn.Tail, r, true)
		if err := s.shorten(h); err != nil {
			return err
		}
	}
	if h.Slide > 0 {
		s.SetDeadline(key, h, s.After(h.Slide), h.Slide)
	}
	s.Changed(key, h)
	r.Count, r.Revision = h.Count(), h.Revision
	return nil
}

// replacedBefore reports whether a replace is a repeat of one that took place, and then fills in r as that time. It
// returns an error if a message has the id of one that stays; h is nil if there is no session.
//
// A replace stores all its messages or none. So it is new if the last of them is not known from one, which is the last
// to be forgotten.
func (s *Operations) replacedBefore(
	key string, h *memtable.Head, o *turn.Replace, r *turn.Result,
) (bool, error) {
	if s.Meta.Level < turn.Level5 || !eachNamed(o.Messages) {
		return s.Duplicate(key, h, o.Messages, r)
	}
	if h != nil && o.Expect != nil && *o.Expect == h.Revision {
		return false, s.mayBring(key, h, o) // had it taken place, the revision would be higher
	}
	then, err := s.IDs.Earlier(key, h, o.Messages, true)
	switch {
	case err != nil:
		return false, err
	case then.Found:
		answerAsThen(&then, h, r)
		return true, nil
	case then.Partly:
		return false, conflictAt(h, "message %d is known by its id from an earlier call, of which others "+
			"are no longer remembered", then.Last)
	}
	return false, s.mayBring(key, h, o)
}

// mayBring returns an error if a message that a replace brings has an id that was in use with another payload, or that
// of a message that stays in the session; h is nil if there is none.
func (s *Operations) mayBring(key string, h *memtable.Head, o *turn.Replace) error {
	var live memtable.View
	if h != nil {
		v, err := s.View(h)
		if err != nil {
			return err
		}
		live = v
		s.Allowance.Bound(&live)
	}
	messages := s.IDs.Lookup(key, h, o.Messages)
	for i := range o.Messages {
		n := &o.Messages[i]
		rec, inc, err := messages.Find(n.ID)
		if inc == 0 || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		var now layout.Record // as the session holds it
		held := h != nil && inc == h.Inc
		if held {
			if now, held, err = heldAs(h, &live, &rec); err != nil {
				return err
			}
		}
		if !rec.Carries(n.Data) && !(held && string(now.Data) == string(n.Data)) {
			return turn.Errorf(turn.IDReused, "id %q belongs to message %d, which has another payload", n.ID, rec.Seq)
		}
		if held && now.Seq < o.From {
			return conflictAt(h, "id %q belongs to message %d, which stays in the session", n.ID, now.Seq)
		}
	}
	return s.Allowance.Searched(&live)
}

// heldAs finds the message that a session holds of one that was appended to it.
func heldAs(h *memtable.Head, live *memtable.View, rec *layout.Record) (layout.Record, bool, error) {
	if live.Live(rec) {
		return *rec, true, nil
	}
	return live.MovedTo(h.Moves, rec.Seq, rec.ID)
}

// conflictAt returns a Conflict at the revision of a session, nil if there is none.
func conflictAt(h *memtable.Head, format string, args ...any) error {
	e := turn.Errorf(turn.Conflict, format, args...)
	if h != nil {
		e.Revision = h.Revision
	}
	return e
}

package sessions

import (
	"cmp"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/fsm/internal/messageids"
	"github.com/turnlog/turnlog/turn"
)

func (s *Operations) replace(o *turn.Replace, r *turn.Result) error {
	key := layout.JoinKey(o.Key)
	h, err := s.session(key)
	if err != nil {
		return s.unlessRepeated(err, func() (bool, error) {
			_, again, err := s.replacedBefore(key, nil, o, false, r)
			return again, err
		})
	}
	holds := h != nil && o.Expect != nil && *o.Expect == h.Revision
	b, again, err := s.replacedBefore(key, h, o, holds, r)
	if again || err != nil {
		return err
	}
	if err := CheckExpect(o.Expect, h); err != nil {
		return err
	}
	return s.replaceFrom(key, h, o, b, r)
}

// replaceFrom is replace for messages whose ids were looked at, and tell b; h is nil if there is no session.
func (s *Operations) replaceFrom(
	key string, h *memtable.Head, o *turn.Replace, b *brought, r *turn.Result,
) error {
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
		s.push(key, h, o.Messages, turn.Tail, b, r)
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

// replacedBefore reports whether a replace is a repeat of one that took place, and then fills in r as that time.
// Otherwise it returns what the messages tell of it, nil before turn.Level5 or if none has an id, or an error if a
// message has an id that it may not have. h is nil if there is no session. holds tells that the replace is under a
// condition that holds: had it taken place, the revision would be higher.
func (s *Operations) replacedBefore(
	key string, h *memtable.Head, o *turn.Replace, holds bool, r *turn.Result,
) (b *brought, again bool, err error) {
	if s.Meta.Level < turn.Level5 || !named(o.Messages) {
		again, err = s.Duplicate(key, h, o.Messages, r)
		return nil, again, err
	}
	after := uint64(0) // a call under a condition that held took place after that revision
	if o.Expect != nil {
		after = *o.Expect
	}
	b = newBrought(o.Messages)
	messages := s.IDs.Lookup(key, h, o.Messages)
	var then, before messageids.Replaced
	var told, untold bool
	if !holds {
		if then, told, err = messages.Replaced(b.call.Digest, after); err != nil {
			return nil, false, err
		}
	}
	if b.used, err = s.inUse(&messages, o.Messages); err == nil && !holds {
		before, untold, err = untoldBefore(&messages, h, b, after)
	}
	switch _, refused := layout.Refusal(err); {
	case err != nil && !(refused && told):
		return nil, false, err
	case untold && !(told && then.Revision < before.Revision):
		answerAsThen(&before, h, r)
		return nil, true, nil
	case told:
		answerAsThen(&then, h, r)
		return nil, true, nil
	}
	return b, false, s.mayBring(h, o, b.used)
}

// untoldBefore finds what a call may have brought before turn.Level5, after a revision: it came one behind the other.
// It returns an error if that is not certain.
func untoldBefore(
	l *messageids.Lookup, h *memtable.Head, b *brought, after uint64,
) (then messageids.Replaced, ok bool, err error) {
	last := &b.used[b.last]
	end := last.at
	if !last.untold || last.then <= after || end.Seq <= b.call.Before {
		return then, false, nil
	}
	start, err := l.WindowStart(end.Inc)
	if err != nil {
		return then, false, err
	}
	then = messageids.Replaced{First: end.Seq - b.call.Before, Last: end.Seq, Revision: last.then}
	sure := b.call.After == 0
	for i := range b.last {
		at := layout.Place{Inc: end.Inc, Seq: then.First + uint64(i)}
		switch k := &b.used[i]; {
		case k.ID == "" || at.Seq < start:
			sure = false
		case !k.untold || k.at != at:
			return then, false, nil
		}
	}
	if !sure {
		err = conflictAt(h, "message %d is known by its id from an earlier call, which may have brought the "+
			"others, too", end.Seq)
	}
	return then, sure, err
}

// mayBring returns an error if a message that a replace brings has an id that was in use with another payload, or that
// of a message that stays in the session; h is nil if there is none.
func (s *Operations) mayBring(h *memtable.Head, o *turn.Replace, known []knownID) error {
	var live memtable.View
	if h != nil {
		v, err := s.View(h)
		if err != nil {
			return err
		}
		live = v
		s.Allowance.Bound(&live)
	}
	var refused error
	for i := 0; i < len(known) && refused == nil; i++ {
		var err error
		if refused, err = known[i].mayComeTo(h, &live, o.From); err != nil {
			return err
		}
	}
	return cmp.Or(s.Allowance.Searched(&live), refused)
}

// mayComeTo is mayBring for one message.
func (k *knownID) mayComeTo(h *memtable.Head, live *memtable.View, from uint64) (refused, err error) {
	if k.inc == 0 {
		return nil, nil
	}
	seq, present := k.rec.Seq, k.present
	held := h != nil && k.inc == h.Inc
	if held && !live.Live(&k.rec) {
		now, moved, err := live.MovedTo(h.Moves, k.rec.Seq, k.ID)
		if err != nil {
			return nil, err
		}
		held, seq, present = moved, now.Seq, string(now.Data) == string(k.Data)
	}
	switch {
	case !k.carries && !(held && present):
		return turn.Errorf(turn.IDReused, "id %q belongs to message %d, which has another payload", k.ID,
			k.rec.Seq), nil
	case held && seq < from:
		return conflictAt(h, "id %q belongs to message %d, which stays in the session", k.ID, seq), nil
	}
	return nil, nil
}

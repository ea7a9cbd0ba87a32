package sessions

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

func (s *Operations) expire(o *turn.Expire, r *turn.Result) error {
	key := layout.JoinKey(o.Key)
	h, err := s.Find(key)
	if err != nil {
		return err
	}
	if o.Slide {
		if err := h.CheckType(turn.TypeList); err != nil {
			return err
		}
	}
	if err := CheckExpect(o.Expect, h); err != nil {
		return err
	}
	if h == nil || (o.List && !h.Held()) {
		return nil
	}
	r.Revision = h.Revision
	deadline := o.At
	if o.HasTTL {
		deadline = s.After(o.TTL)
	}
	removes := !o.HasTTL && !o.HasAt
	if removes && h.Deadline == 0 || !allows(o.If, h.Deadline, deadline) {
		return nil
	}
	r.Removed = 1
	if !removes && deadline <= s.Meta.Clock {
		s.Remove(key, h)
		r.Revision = s.Revision(key)
		return nil
	}
	h = s.Own(key, h)
	switch {
	case removes:
		s.SetDeadline(key, h, 0, 0)
	case o.Slide:
		s.SetDeadline(key, h, deadline, o.TTL)
	default:
		s.SetDeadline(key, h, deadline, 0)
	}
	s.Changed(key, h)
	r.Revision = h.Revision
	return nil
}

// allows holds a new deadline against the condition and the current one, of
// which 0, none, counts as infinitely late.
func allows(cond turn.ExpireIf, current, deadline int64) bool {
	switch cond {
	case turn.IfNone:
		return current == 0
	case turn.IfSome:
		return current != 0
	case turn.IfLater:
		return current != 0 && deadline > current
	case turn.IfSooner:
		return current == 0 || deadline < current
	case turn.IfSomeSooner:
		return current != 0 && deadline < current
	}
	return true
}

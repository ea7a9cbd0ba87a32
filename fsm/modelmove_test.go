package fsm

import (
	"maps"
	"slices"

	"github.com/turnlog/turnlog/turn"
)

// moveElement moves an element: it becomes a new message without an id.
func (m *model) moveElement(o *turn.MoveElement) (turn.Result, *turn.Error) {
	s, to := m.sessions[o.Key], m.sessions[o.To]
	if s == nil || len(s.list) == 0 {
		return turn.Result{}, nil
	}
	if to != nil && to.typ != turn.TypeList {
		return wrongType()
	}
	before, open, at := s.list, s.open, 0
	if o.From == turn.Tail {
		at = len(s.list) - 1
	}
	taken := before[at]
	s.list = slices.Delete(slices.Clone(before), at, at+1)
	s.lost(before, false, false)
	r := turn.Result{Found: true, Messages: []turn.Message{taken}}
	if o.Key != o.To {
		m.removedSome(o.Key, s, 1, true)
		m.extend(o.To, to, &turn.Append{Messages: []turn.NewMessage{{Data: taken.Data}}, Side: o.On})
		return r, nil
	}
	s.open = slices.DeleteFunc(slices.Clone(s.open), func(c modelCall) bool { return c.id != "" && c.seq == taken.Seq })
	left := s.list
	s.list = before
	waits := s.waits(s.last + 1)
	s.list = left
	s.last++
	s.setInside(s.last, waits)
	if s.moved = maps.Clone(s.moved); s.moved == nil {
		s.moved = make(map[uint64]uint64)
	}
	s.moved[s.last] = 0
	s.waitOn(open, taken.Seq)
	put := turn.Message{Seq: s.last, Time: m.clock, Data: taken.Data}
	if o.On == turn.Head {
		s.list = append([]turn.Message{put}, s.list...)
	} else {
		s.list = append(slices.Clone(s.list), put)
	}
	s.endTurns()
	m.changed(o.Key, s)
	return r, nil
}

// waitOn has the calls of a message that was moved, as they waited, wait in the newest one.
func (s *modelSession) waitOn(open []modelCall, from uint64) {
	unknown := false
	for _, c := range open {
		switch {
		case c.id == "":
			unknown = unknown || c.seq >= from
		case c.seq == from:
			s.open = append(slices.Clone(s.open), modelCall{s.last, c.id})
		}
	}
	if unknown {
		s.reopen()
	}
}

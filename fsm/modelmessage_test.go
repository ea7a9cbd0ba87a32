package fsm

import (
	"bytes"
	"slices"

	"github.com/turnlog/turnlog/turn"
)

// index returns the place of a message in the list, -1 if it is not there.
func (s *modelSession) index(ref turn.MessageRef) int {
	if ref.Seq > 0 {
		return slices.IndexFunc(s.list, func(m turn.Message) bool { return m.Seq == ref.Seq })
	}
	from := windowFrom(s.last, s.moved)
	for _, a := range slices.Backward(s.appended) {
		if a.ID != ref.ID || a.Seq < from {
			continue
		}
		if i := s.index(turn.MessageRef{Seq: a.Seq}); i >= 0 {
			return i
		}
		return s.newest(func(m turn.Message) bool {
			_, moved := s.moved[m.Seq]
			return moved && m.ID == ref.ID && m.Seq > a.Seq
		})
	}
	return s.newest(func(m turn.Message) bool { return m.ID == ref.ID })
}

// newest returns the place of the message with the highest seq among some, -1 if there is none.
func (s *modelSession) newest(among func(turn.Message) bool) int {
	best := -1
	for i, m := range s.list {
		if among(m) && (best < 0 || m.Seq > s.list[best].Seq) {
			best = i
		}
	}
	return best
}

func (m *model) editMessage(o *turn.EditMessage) (turn.Result, *turn.Error) {
	s := m.sessions[o.Key]
	if err := m.expect(o.Expect, s); err != nil {
		return turn.Result{}, err
	}
	if s == nil {
		return turn.Result{}, &turn.Error{Kind: turn.NotFound}
	}
	i := s.index(o.Message)
	if i < 0 {
		return turn.Result{}, &turn.Error{Kind: turn.NotFound}
	}
	if !bytes.Equal(s.list[i].Data, o.Data) {
		s.edit(i, o.Data, m.level)
		m.changed(o.Key, s)
	}
	seq := s.list[i].Seq
	return turn.Result{First: seq, Last: seq, Count: uint64(len(s.list)), Revision: s.revision}, nil
}

func (m *model) removeMessage(o *turn.RemoveMessage) (r turn.Result, _ *turn.Error) {
	s := m.sessions[o.Key]
	if err := m.expect(o.Expect, s); err != nil {
		return r, err
	}
	if s == nil {
		return r, nil
	}
	if i := s.index(o.Message); i >= 0 {
		before := s.list
		s.list = slices.Delete(slices.Clone(s.list), i, i+1)
		s.lost(before, false, false)
		r.Removed = 1
		m.removedSome(o.Key, s, 1, false)
	}
	r.Count, r.Revision = uint64(len(s.list)), s.revision
	return r, nil
}

// messageEdit edits or removes a message of a session, most often one that is there.
func (g *generator) messageEdit(k turn.Key) turn.Op {
	ref := turn.MessageRef{Seq: 1 + g.rnd.Uint64N(40)}
	if s := g.model.sessions[k]; s != nil && len(s.appended) > 0 && g.rnd.IntN(5) > 0 {
		a := s.appended[g.rnd.IntN(len(s.appended))].Message
		if len(s.list) > 0 && g.rnd.IntN(3) > 0 {
			a = s.list[g.rnd.IntN(len(s.list))]
		}
		ref = turn.MessageRef{Seq: a.Seq}
		if a.ID != "" && g.rnd.IntN(3) > 0 {
			ref = turn.MessageRef{ID: a.ID}
		}
	} else if g.rnd.IntN(2) == 0 {
		ref = turn.MessageRef{ID: "unknown"}
	}
	if g.rnd.IntN(2) == 0 {
		return &turn.RemoveMessage{Key: k, Message: ref, Expect: g.expect(k)}
	}
	if g.rnd.IntN(4) == 0 {
		return &turn.EditMessage{Key: k, Message: ref, Expect: g.expect(k), Data: g.toolMessage()}
	}
	return &turn.EditMessage{Key: k, Message: ref, Expect: g.expect(k),
		Data: bytes.Repeat([]byte{byte('a' + g.rnd.IntN(3))}, g.rnd.IntN(4))}
}

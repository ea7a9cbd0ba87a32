package fsm

import (
	"slices"

	"github.com/turnlog/turnlog/turn"
)

func (m *model) rename(o *turn.Rename) (turn.Result, *turn.Error) {
	s := m.sessions[o.Key]
	if err := m.expect(o.Expect, s); err != nil {
		return turn.Result{}, err
	}
	if s == nil || o.List && !s.held() {
		return turn.Result{}, &turn.Error{Kind: turn.NotFound}
	}
	there := m.sessions[o.To]
	exists := there != nil && (!o.List || there.held())
	if o.Key == o.To || exists && !o.Replace && o.List {
		return turn.Result{Count: there.count(), Revision: there.revision}, nil
	}
	if exists && !o.Replace {
		return turn.Result{}, &turn.Error{Kind: turn.Exists}
	}
	if there != nil {
		m.remove(o.To)
	}
	to := *s
	to.inc = 0
	if s.typ == turn.TypeList {
		to = *s.upTo(s.last)
		to.deadline, to.slide, to.keep, to.turns = s.deadline, s.slide, s.keep, slices.Clone(s.turns)
		to.pushes.lastID, to.pushes.dropped = s.pushes.lastID, s.pushes.dropped
		if m.level >= turn.Level3 {
			to.appended, to.moved = s.appended, s.moved
		}
	}
	m.marks++
	to.pushes.session = m.marks
	m.sessions[o.To] = &to
	m.changed(o.To, &to)
	m.remove(o.Key)
	m.tombstones[len(m.tombstones)-1].renamed = modelRenamed{o.To, to.pushes.session}
	return turn.Result{Removed: 1, Count: to.count(), Revision: to.revision}, nil
}

// rename makes one between keys that hold a value of any type, or nothing, more often a session.
func (g *generator) rename(k turn.Key) turn.Op {
	any := func(name string) string {
		if g.rnd.IntN(2) == 0 {
			return []string{"a", "b", "v", "w", "x"}[g.rnd.IntN(5)]
		}
		return name
	}
	to := turn.Key{Namespace: k.Namespace, Name: any(g.key().Name)}
	k.Name = any(k.Name)
	return &turn.Rename{Key: k, To: to, Replace: g.rnd.IntN(2) == 0, Expect: g.expect(k),
		List: k == to || g.rnd.IntN(2) == 0}
}

// afterRename sends an append or a push again to the session that has its messages now, or has removed them; nil if
// none is to be found.
func (g *generator) afterRename() turn.Op {
	for _, name := range []string{"a", "b", "c", "v"} {
		k := turn.Key{Namespace: "0", Name: name}
		s := g.model.sessions[k]
		if s == nil || s.pushes.session == 0 || len(s.appended) == 0 {
			continue
		}
		a := s.appended[g.rnd.IntN(len(s.appended))]
		ms := []turn.NewMessage{{ID: a.ID, Data: a.Data}}
		if g.rnd.IntN(2) == 0 {
			return &turn.Append{Key: k, Messages: ms}
		}
		return &turn.PushOnce{Key: k, Messages: ms}
	}
	return nil
}

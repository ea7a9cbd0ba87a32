package fsm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/turnlog/turnlog/turn"
)

// metadata returns a change of a session's metadata, labels among it.
func (g *generator) metadata() (set map[string]string, unset []string) {
	set = map[string]string{fmt.Sprint(g.rnd.IntN(3)): fmt.Sprint(g.rnd.IntN(9))}
	for range g.rnd.IntN(3) {
		set[turn.LabelPrefix+g.label()] = g.labelValue()
	}
	for range g.rnd.IntN(3) {
		unset = append(unset, turn.LabelPrefix+g.label())
	}
	return set, append(unset, "1")
}

// label returns the name of one of nine labels: a session may have eight.
func (g *generator) label() string { return string(rune('a' + g.rnd.IntN(9))) }

func (g *generator) labelValue() string { return []string{"", "u1", "u\x002"}[g.rnd.IntN(3)] }

// labels returns those in a session's metadata.
func (s *modelSession) labels() (n int) {
	for k := range s.meta {
		if strings.HasPrefix(k, "label.") {
			n++
		}
	}
	return n
}

// before counts the labels whose names come before one: of too many, the first ones count.
func (s *modelSession) before(label string) (n int) {
	for k := range s.meta {
		if strings.HasPrefix(k, "label.") && k < label {
			n++
		}
	}
	return n
}

// tooManyLabels refuses a change of metadata.
func (m *model) tooManyLabels(s *modelSession, set map[string]string, unset []string) *turn.Error {
	var then modelSession
	if s != nil {
		then.meta = s.meta
	}
	before := then.labels()
	then.changeMeta(set, unset)
	if then.labels() > max(before, turn.MaxLabels) && m.level >= turn.Level2 {
		return &turn.Error{Kind: turn.TooLarge}
	}
	return nil
}

// labelled returns the sessions of a namespace that carry a label, the one that changed last first.
func (m *model) labelled(q *turn.Sessions) (found []turn.Session) {
	for k, s := range m.sessions {
		ok := k.Namespace == q.Namespace && s.labelled && strings.HasPrefix(k.Name, q.Prefix)
		for _, l := range q.Labels {
			v, has := s.meta["label."+l.Name]
			ok = ok && has && v == l.Value && s.before("label."+l.Name) < turn.MaxLabels
		}
		if ok && (len(q.Prefixes) == 0 ||
			slices.ContainsFunc(q.Prefixes, func(p string) bool { return strings.HasPrefix(k.Name, p) })) {
			found = append(found, turn.Session{Key: k, Revision: s.revision, Count: uint64(len(s.list))})
		}
	}
	slices.SortFunc(found, func(a, b turn.Session) int { return int(b.Revision) - int(a.Revision) })
	return found
}

// compareLabels holds lists by labels, page by page, against those of the model.
func (g *generator) compareLabels(r *rig, ns string) {
	r.t.Helper()
	for _, value := range []string{"", "u1", "u\x002"} {
		q := turn.Sessions{Namespace: ns, Labels: []turn.Label{{Name: g.label(), Value: value}}}
		other := turn.Label{Name: g.label(), Value: g.labelValue()}
		if g.rnd.IntN(3) == 0 && other.Name != q.Labels[0].Name {
			q.Labels = append(q.Labels, other)
		}
		if g.rnd.IntN(4) == 0 {
			q.Prefix = []string{"a", "a\x00", "b"}[g.rnd.IntN(3)]
		}
		if g.rnd.IntN(4) == 0 {
			q.Prefixes = []string{"b", "v"}
		}
		g.compareLabelled(r, q)
	}
}

func (g *generator) compareLabelled(r *rig, q turn.Sessions) {
	r.t.Helper()
	want := g.model.labelled(&q)
	var got []turn.Session
	for q.Limit = 1 + g.rnd.IntN(3); ; {
		page := r.query(&q)
		if len(page.Sessions) > q.Limit {
			r.t.Fatalf("%+v: a page has %d sessions", q, len(page.Sessions))
		}
		for _, s := range page.Sessions {
			got = append(got, turn.Session{Key: s.Key, Revision: s.Revision, Count: s.Count})
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			break
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		r.t.Fatalf("%+v lists\n%v, want\n%v", q, got, want)
	}
}

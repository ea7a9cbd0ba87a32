package fsm

import (
	"maps"
	"slices"
	"strings"

	"github.com/turnlog/turnlog/turn"
)

// combined returns the members of a combination of sets, in order.
func (m *model) combined(q *turn.CombineSets) (names []string, ok bool) {
	in := make(map[string]int)
	for i, k := range q.Keys {
		s, ok := m.value(k, turn.TypeSet)
		if !ok {
			return nil, false
		}
		if s == nil {
			continue
		}
		for name := range s.elements {
			if i == 0 || q.By != turn.Difference {
				in[name]++
			} else {
				in[name] = -len(q.Keys)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if n := in[name]; q.By == turn.Intersection && n == len(q.Keys) || q.By != turn.Intersection && n > 0 {
			names = append(names, name)
		}
	}
	return names, true
}

// combine answers a query for a combination of sets.
func (m *model) combine(q *turn.CombineSets) (r turn.Result, err *turn.Error) {
	names, ok := m.combined(q)
	if !ok {
		return wrongType()
	}
	r.Count = uint64(len(names))
	if q.OnlyCount {
		if q.Limit > 0 {
			r.Count = min(r.Count, q.Limit)
		}
		return r, nil
	}
	for _, name := range names {
		r.Elements = append(r.Elements, turn.Element{Name: name})
	}
	return r, nil
}

func (m *model) storeSets(o *turn.StoreSets) (r turn.Result, err *turn.Error) {
	names, ok := m.combined(&o.Of)
	if !ok {
		return wrongType()
	}
	there := m.sessions[o.To]
	held := there != nil && there.held()
	if there != nil && (len(names) > 0 || held) {
		m.remove(o.To)
	}
	if len(names) == 0 {
		if held {
			r.Removed = 1
		}
		r.Revision = m.now(o.To)
		return r, nil
	}
	s := m.make(o.To, turn.TypeSet)
	for _, name := range names {
		s.elements[name] = nil
	}
	m.changed(o.To, s)
	r.Count, r.Revision = s.count(), s.revision
	return r, nil
}

// lookup answers which of several keys exist, or with their strings.
func (m *model) lookup(q *turn.Lookup) (r turn.Result) {
	for _, k := range q.Keys {
		s := m.sessions[k]
		el := turn.Element{Missing: s == nil || !s.held() || q.Strings && s.typ != turn.TypeString}
		if q.Strings && !el.Missing {
			el.Value = s.elements[""]
		}
		r.Elements = append(r.Elements, el)
	}
	return r
}

// several returns keys of a namespace, mostly such as have the type.
func (g *generator) several(ns string, typ turn.Type) (keys []turn.Key) {
	for range 1 + g.rnd.IntN(4) {
		k := turn.Key{Namespace: ns, Name: []string{"v", "w", "x", "a", "none"}[g.rnd.IntN(5)]}
		var such []turn.Key
		for other, s := range g.model.sessions {
			if other.Namespace == ns && s.typ == typ {
				such = append(such, other)
			}
		}
		if len(such) > 0 && g.rnd.IntN(6) > 0 {
			slices.SortFunc(such, func(a, b turn.Key) int { return strings.Compare(a.Name, b.Name) })
			k = such[g.rnd.IntN(len(such))]
		}
		keys = append(keys, k)
	}
	return keys
}

func (g *generator) combination(ns string) turn.CombineSets {
	q := turn.CombineSets{Keys: g.several(ns, turn.TypeSet), By: turn.SetsBy(g.rnd.IntN(3)),
		OnlyCount: g.rnd.IntN(3) == 0}
	if q.OnlyCount {
		q.Limit = uint64(g.rnd.IntN(4))
	}
	return q
}

func (g *generator) storeSets(k turn.Key) turn.Op {
	o := &turn.StoreSets{To: k, Of: g.combination(k.Namespace)}
	o.Of.OnlyCount, o.Of.Limit = false, 0
	return o
}

// compareSeveral holds answers about several keys against the model.
func (g *generator) compareSeveral(r *rig, ns string) {
	r.t.Helper()
	for range 3 {
		q := g.combination(ns)
		want, refused := g.model.combine(&q)
		got, err := r.m.Query(&q)
		if (err != nil) != (refused != nil) || err != nil && turn.KindOf(err) != refused.Kind {
			r.t.Fatalf("%+v: got error %v, want %v", q, err, refused)
		}
		if got.Index, got.Time = 0, 0; err == nil && !sameResult(got, want) {
			r.t.Fatalf("%+v: got %+v, want %+v", q, got, want)
		}
	}
	q := turn.Lookup{Keys: g.several(ns, turn.TypeString), Strings: g.rnd.IntN(2) == 0}
	got := r.query(&q)
	if got.Index, got.Time = 0, 0; !sameResult(got, g.model.lookup(&q)) {
		r.t.Fatalf("%+v: got %+v, want %+v", q, got, g.model.lookup(&q))
	}
}

package fsm

import (
	"fmt"

	"github.com/turnlog/turnlog/turn"
)

func (m *model) transact(o *turn.Tx) (r turn.Result) {
	for _, w := range o.Watch {
		revision := uint64(0)
		if s := m.sessions[w.Key]; s != nil {
			revision = s.revision
		}
		if revision != w.Revision {
			return turn.Result{Aborted: true}
		}
	}
	for _, s := range o.Steps {
		var out turn.Outcome
		if s.Op != nil {
			out.Result, out.Err = m.apply(s.Op)
		} else {
			out.Result, out.Err = m.ask(s.Query)
		}
		if out.Err != nil {
			out.Result = turn.Result{}
		}
		r.Steps = append(r.Steps, out)
	}
	return r
}

// ask answers a query, without what describes the key.
func (m *model) ask(q turn.Query) (r turn.Result, err *turn.Error) {
	switch q := q.(type) {
	case *turn.List:
		s, ok := m.value(q.Key, turn.TypeList)
		if !ok {
			return wrongType()
		}
		if s != nil {
			r.Messages = modelRange(s.list, q.Start, q.Stop)
		}
	case *turn.GetString:
		s, ok := m.value(q.Key, turn.TypeString)
		if !ok {
			return wrongType()
		}
		if s != nil {
			r.Value, r.Found = s.elements[""], true
		}
	case *turn.AllFields:
		s, ok := m.value(q.Key, q.Type)
		if !ok {
			return wrongType()
		}
		if s != nil {
			r.Elements = s.named()
		}
	case *turn.Scores:
		s, ok := m.value(q.Key, turn.TypeZSet)
		if !ok {
			return wrongType()
		}
		if s != nil {
			r.Elements = s.selected(q)
		}
	case *turn.Entries:
		s, ok := m.value(q.Key, turn.TypeStream)
		if !ok {
			return wrongType()
		}
		if s != nil {
			r.Entries = s.entries
		}
	case *turn.CombineSets:
		return m.combine(q)
	case *turn.Lookup:
		return m.lookup(q), nil
	case *turn.Count:
		for k, s := range m.sessions {
			if k.Namespace == q.Namespace && s.held() {
				r.Number++
			}
		}
	default:
		panic(fmt.Sprintf("no model for %T", q))
	}
	return r, nil
}

// answersOnly leaves of the answers to a transaction's queries what the model
// tells of them.
func answersOnly(tx *turn.Tx, steps []turn.Outcome) {
	for i := range steps {
		r := steps[i].Result
		kept := turn.Result{Value: r.Value, Found: r.Found, Messages: r.Messages, Elements: r.Elements,
			Entries: r.Entries}
		switch tx.Steps[i].Query.(type) {
		case nil:
			kept = r
			kept.Index, kept.Time = 0, 0
		case *turn.CombineSets:
			kept.Count = r.Count
		case *turn.Count:
			kept.Number = int64(r.Count)
		}
		steps[i].Result = kept
	}
}

func (g *generator) tx() turn.Op {
	o := &turn.Tx{}
	for range g.rnd.IntN(3) {
		w := turn.Watched{Key: g.key()}
		if s := g.model.sessions[w.Key]; s != nil {
			w.Revision = s.revision
		}
		if g.rnd.IntN(6) == 0 {
			now := g.model.now(w.Key)
			w.Revision = now - min(now, uint64(g.rnd.IntN(9)))
		}
		o.Watch = append(o.Watch, w)
	}
	for range g.rnd.IntN(6) {
		if g.rnd.IntN(3) > 0 {
			o.Steps = append(o.Steps, turn.Step{Op: g.simple()})
		} else {
			o.Steps = append(o.Steps, turn.Step{Query: g.query()})
		}
	}
	return o
}

func (g *generator) query() turn.Query {
	k := g.key()
	if g.rnd.IntN(4) > 0 {
		k.Name = []string{"v", "w", "x"}[g.rnd.IntN(3)]
	}
	typ := turn.TypeList
	if s := g.model.sessions[k]; s != nil && g.rnd.IntN(5) > 0 {
		typ = s.typ
	}
	switch typ {
	case turn.TypeString:
		return &turn.GetString{Key: k}
	case turn.TypeHash, turn.TypeSet:
		return &turn.AllFields{Key: k, Type: typ}
	case turn.TypeZSet:
		return &turn.Scores{Key: k, By: turn.ByScore, Min: g.bound(), Max: g.bound()}
	case turn.TypeStream:
		return &turn.Entries{Key: k, Max: turn.MaxEntryID()}
	}
	switch g.rnd.IntN(9) {
	case 0, 1, 2:
		return &turn.Count{Namespace: k.Namespace}
	case 3:
		q := g.combination(k.Namespace)
		return &q
	case 4:
		return &turn.Lookup{Keys: g.several(k.Namespace, turn.TypeString), Strings: g.rnd.IntN(2) == 0}
	}
	return &turn.List{Key: k, Start: int64(g.rnd.IntN(20) - 10), Stop: int64(g.rnd.IntN(20) - 10)}
}

package fsm

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/turnlog/turnlog/turn"
)

// Sorted sets and streams, done the obvious way.

func (m *model) setScores(o *turn.SetScores) (r turn.Result, _ *turn.Error) {
	s, ok := m.value(o.Key, turn.TypeZSet)
	if !ok {
		return wrongType()
	}
	if s == nil && o.OnlyExisting {
		return r, nil
	}
	if o.Increment && s != nil && math.IsNaN(s.scores[o.Members[0].Member]+o.Members[0].Score) && !o.OnlyNew {
		return invalid()
	}
	s = m.make(o.Key, turn.TypeZSet)
	changed := false
	for _, mem := range o.Members {
		old, had := s.scores[mem.Member]
		if had && o.OnlyNew || !had && o.OnlyExisting {
			continue
		}
		score := mem.Score
		if o.Increment {
			score += old
		}
		if score == 0 {
			score = 0 // not -0
		}
		if had && (o.OnlyGreater && score <= old || o.OnlyLess && score >= old) {
			continue
		}
		if o.Increment {
			r.Found, r.Score = true, score
		}
		if had && score == old {
			continue
		}
		s.scores[mem.Member] = score
		changed = true
		if !had || o.Changed {
			r.Number++
		}
	}
	if changed {
		m.changed(o.Key, s)
	}
	r.Count, r.Revision = s.count(), s.revision
	return r, nil
}

func (m *model) removeScores(o *turn.RemoveScores) (r turn.Result, _ *turn.Error) {
	s, ok := m.value(o.Of.Key, turn.TypeZSet)
	if !ok {
		return wrongType()
	}
	if s == nil {
		return r, nil
	}
	for _, el := range s.selected(&o.Of) {
		delete(s.scores, el.Name)
		r.Removed++
		if o.Answer {
			r.Elements = append(r.Elements, el)
		}
	}
	if r.Removed > 0 {
		return m.shrunk(o.Of.Key, r), nil
	}
	r.Count, r.Revision = s.count(), s.revision
	return r, nil
}

// ordered returns the members of a sorted set in its order.
func (s *modelSession) ordered() []turn.Element {
	els := s.named()
	slices.SortFunc(els, func(a, b turn.Element) int {
		return cmp.Or(cmp.Compare(a.Score, b.Score), strings.Compare(a.Name, b.Name))
	})
	return els
}

func (s *modelSession) selected(q *turn.Scores) (out []turn.Element) {
	els := s.ordered()
	if q.By == turn.ByName {
		els = s.named()
	}
	if q.Reverse {
		slices.Reverse(els)
	}
	if q.By == turn.ByRank {
		// As a list: ranks follow the rules of LRANGE.
		list := make([]turn.Message, len(els))
		for i := range list {
			list[i].Seq = uint64(i)
		}
		for _, x := range modelRange(list, q.Start, q.Stop) {
			out = append(out, els[x.Seq])
		}
		return out
	}
	for _, el := range els {
		low, high := cmp.Compare(el.Score, q.Min.Score), cmp.Compare(el.Score, q.Max.Score)
		if q.By == turn.ByName {
			low, high = strings.Compare(el.Name, q.Min.Name), strings.Compare(el.Name, q.Max.Name)
		}
		if (q.Min.Open || low > 0 || low == 0 && !q.Min.Exclusive) &&
			(q.Max.Open || high < 0 || high == 0 && !q.Max.Exclusive) {
			out = append(out, el)
		}
	}
	out = out[min(q.Offset, len(out)):]
	if q.Limit > 0 {
		out = out[:min(q.Limit, len(out))]
	}
	return out
}

func (m *model) addEntry(o *turn.AddEntry) (r turn.Result, _ *turn.Error) {
	s, ok := m.value(o.Key, turn.TypeStream)
	if !ok {
		return wrongType()
	}
	if s == nil && o.OnlyExisting {
		return r, nil
	}
	last := turn.EntryID{}
	if s != nil {
		last = s.entry
	}
	id := o.ID
	switch {
	case last == turn.MaxEntryID():
		return invalid()
	case o.Make == turn.IDMade && uint64(m.clock) > last.Time:
		id = turn.EntryID{Time: uint64(m.clock)}
	case o.Make == turn.IDMade:
		id = turn.EntryID{Time: last.Time, Seq: last.Seq + 1}
		if id.Seq == 0 {
			id.Time++
		}
	case o.Make == turn.IDSeqMade && id.Time == last.Time:
		if last.Seq == math.MaxUint64 {
			return invalid()
		}
		id.Seq = last.Seq + 1
	case o.Make == turn.IDSeqMade:
		id.Seq = 0
	}
	if id.Time < last.Time || id.Time == last.Time && id.Seq <= last.Seq {
		return invalid()
	}
	s = m.make(o.Key, turn.TypeStream)
	s.entries = append(slices.Clone(s.entries), turn.Entry{ID: id, Fields: o.Fields})
	s.entry = id
	s.added++
	r.ID, r.Found, r.Removed = id, true, s.trim(o.Trim)
	m.changed(o.Key, s)
	r.Count, r.Revision = s.count(), s.revision
	return r, nil
}

func (s *modelSession) removeEntries(which func(turn.Entry) bool) uint64 {
	before := len(s.entries)
	s.entries = slices.DeleteFunc(slices.Clone(s.entries), which)
	return uint64(before - len(s.entries))
}

func (s *modelSession) trim(t turn.StreamTrim) uint64 {
	left, limit := s.count(), t.Limit
	if limit == 0 {
		limit = math.MaxUint64
	}
	return s.removeEntries(func(e turn.Entry) bool {
		goes := t.By == turn.ToLength && left > t.Length || t.By == turn.BeforeID && e.ID.Compare(t.ID) < 0
		if !goes || limit == 0 {
			return false
		}
		left--
		limit--
		return true
	})
}

func (m *model) reduceStream(k turn.Key, fn func(*modelSession) uint64) (r turn.Result, _ *turn.Error) {
	s, ok := m.value(k, turn.TypeStream)
	if !ok {
		return wrongType()
	}
	if s == nil {
		return r, nil
	}
	if r.Removed = fn(s); r.Removed > 0 {
		m.changed(k, s)
	}
	r.Count, r.Revision = s.count(), s.revision
	return r, nil
}

func (g *generator) score() float64 {
	if g.rnd.IntN(6) == 0 {
		return []float64{math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 1e300, -1e-300}[g.rnd.IntN(5)]
	}
	return float64(g.rnd.IntN(9)-4) / 2
}

func (g *generator) scoresOp(k turn.Key) turn.Op {
	switch g.rnd.IntN(9) {
	case 0, 1:
		return &turn.RemoveFields{Key: k, Type: turn.TypeZSet, Names: g.names()}
	case 2:
		return &turn.RemoveScores{Of: *g.scoresRange(k), Answer: g.rnd.IntN(2) == 0}
	}
	o := &turn.SetScores{Key: k, Changed: g.rnd.IntN(2) == 0}
	for _, n := range g.names() {
		o.Members = append(o.Members, turn.Score{Member: n, Score: g.score()})
	}
	if g.rnd.IntN(3) == 0 {
		o.Increment, o.Members = true, o.Members[:1]
	}
	switch g.rnd.IntN(8) {
	case 0:
		o.OnlyNew = true
	case 1:
		o.OnlyExisting = true
	case 2:
		o.OnlyGreater, o.OnlyExisting = true, g.rnd.IntN(2) == 0
	case 3:
		o.OnlyLess = true
	}
	return o
}

// entryID is most often one near those that the stream of k has.
func (g *generator) entryID(k turn.Key) turn.EntryID {
	if s := g.model.sessions[k]; s != nil && len(s.entries) > 0 && g.rnd.IntN(4) > 0 {
		id := s.entries[g.rnd.IntN(len(s.entries))].ID
		switch g.rnd.IntN(4) {
		case 0:
			id, _ = id.Next()
		case 1:
			id, _ = id.Prev()
		}
		return id
	}
	if g.rnd.IntN(20) == 0 {
		return turn.EntryID{Time: uint64(g.model.clock) + uint64(g.rnd.IntN(2))*math.MaxUint32, Seq: math.MaxUint64}
	}
	return turn.EntryID{Time: uint64(g.model.clock) + uint64(g.rnd.IntN(40)), Seq: 1 + uint64(g.rnd.IntN(3))}
}

func (g *generator) streamTrim(k turn.Key) turn.StreamTrim {
	return turn.StreamTrim{By: turn.TrimStreamBy(1 + g.rnd.IntN(2)), Length: uint64(g.rnd.IntN(12)), ID: g.entryID(k),
		Limit: uint64(max(0, g.rnd.IntN(6)-2))}
}

func (g *generator) streamOp(k turn.Key) turn.Op {
	switch g.rnd.IntN(9) {
	case 0:
		return &turn.TrimEntries{Key: k, Trim: g.streamTrim(k)}
	case 1:
		return &turn.RemoveEntries{Key: k, IDs: []turn.EntryID{g.entryID(k), g.entryID(k)}}
	}
	o := &turn.AddEntry{Key: k, ID: g.entryID(k), Make: turn.MakeID(g.rnd.IntN(3)), OnlyExisting: g.rnd.IntN(5) == 0}
	for _, n := range g.names() {
		o.Fields = append(o.Fields, turn.Field{Name: n, Value: g.content()})
	}
	if g.rnd.IntN(5) == 0 {
		o.Trim = g.streamTrim(k)
	}
	return o
}

func (g *generator) bound() turn.Bound {
	return turn.Bound{Score: g.score(), Name: g.name(), Exclusive: g.rnd.IntN(2) == 0, Open: g.rnd.IntN(4) == 0}
}

func (g *generator) scoresRange(k turn.Key) *turn.Scores {
	q := &turn.Scores{
		Key: k, By: turn.ScoresBy(g.rnd.IntN(3)), Start: int64(g.rnd.IntN(16) - 8), Stop: int64(g.rnd.IntN(16) - 8),
		Min: g.bound(), Max: g.bound(), Reverse: g.rnd.IntN(2) == 0,
	}
	if g.rnd.IntN(3) == 0 {
		q.Offset, q.Limit = g.rnd.IntN(3), g.rnd.IntN(4)
	}
	return q
}

func (g *generator) compareScores(r *rig, k turn.Key, s *modelSession) {
	r.t.Helper()
	for range 4 {
		q := g.scoresRange(k)
		if got, want := r.query(q).Elements,
			s.selected(q); !sameResult(turn.Result{Elements: got}, turn.Result{Elements: want}) {
			r.t.Fatalf("%+v is\n %v, want\n %v", q, got, want)
		}
	}
	q := &turn.Rank{Key: k, Member: g.name(), Reverse: g.rnd.IntN(2) == 0}
	els := s.ordered()
	if q.Reverse {
		slices.Reverse(els)
	}
	want := slices.IndexFunc(els, func(e turn.Element) bool { return e.Name == q.Member })
	if got := r.query(q); got.Found != (want >= 0) ||
		got.Found && (got.Number != int64(want) || got.Score != s.scores[q.Member]) {
		r.t.Fatalf("%+v is %v, %d with %v, want %d of %v", q, got.Found, got.Number, got.Score, want, els)
	}
}

func (g *generator) compareEntries(r *rig, k turn.Key, s *modelSession) {
	r.t.Helper()
	q := &turn.Entries{Key: k, Max: turn.MaxEntryID()}
	for range 3 {
		var want []turn.Entry
		for _, e := range s.entries {
			if e.ID.Compare(q.Min) >= 0 && e.ID.Compare(q.Max) <= 0 {
				want = append(want, e)
			}
		}
		if q.Reverse {
			slices.Reverse(want)
		}
		more := q.Limit > 0 && len(want) > q.Limit
		if more {
			want = want[:q.Limit]
		}
		if got := r.query(q); got.More != more ||
			!sameResult(turn.Result{Entries: got.Entries}, turn.Result{Entries: want}) {
			r.t.Fatalf("%+v is\n %v, want\n %v", q, got.Entries, want)
		}
		q = &turn.Entries{Key: k, Min: g.entryID(k), Max: g.entryID(k), Reverse: g.rnd.IntN(2) == 0,
			Limit: g.rnd.IntN(4)}
	}
}

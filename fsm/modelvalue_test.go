package fsm

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/turnlog/turnlog/turn"
)

func (s *modelSession) held() bool { return s.count() > 0 || s.typ == turn.TypeStream }

func (s *modelSession) count() uint64 {
	return uint64(len(s.list) + len(s.elements) + len(s.scores) + len(s.entries))
}

func wrongType() (turn.Result, *turn.Error) {
	return turn.Result{}, &turn.Error{Kind: turn.WrongType}
}

func invalid() (turn.Result, *turn.Error) { return turn.Result{}, &turn.Error{Kind: turn.Invalid} }

// value returns what a key holds as Redis sees it; ok is false if that is of
// another type.
func (m *model) value(k turn.Key, typ turn.Type) (s *modelSession, ok bool) {
	if s = m.sessions[k]; s == nil || !s.held() {
		return nil, true
	}
	return s, s.typ == typ
}

// make returns the value of a key, a new one if there is none.
func (m *model) make(k turn.Key, typ turn.Type) *modelSession {
	if s := m.sessions[k]; s != nil {
		if s.held() {
			return s
		}
		m.remove(k)
	}
	s := &modelSession{typ: typ, elements: make(map[string][]byte), scores: make(map[string]float64)}
	m.sessions[k] = s
	return s
}

// shrunk settles a value that may have lost its last element.
func (m *model) shrunk(k turn.Key, r turn.Result) turn.Result {
	s := m.sessions[k]
	r.Count = s.count()
	if !s.held() {
		m.remove(k)
		r.Revision = m.now(k)
		return r
	}
	m.changed(k, s)
	r.Revision = s.revision
	return r
}

func (m *model) applyValue(op turn.Op) (turn.Result, *turn.Error) {
	switch o := op.(type) {
	case *turn.SetString:
		return m.setString(o)
	case *turn.AddInt:
		s, ok := m.value(o.Key, turn.TypeString)
		if !ok {
			return wrongType()
		}
		return m.addInt(o.Key, turn.TypeString, s, "", o.Delta)
	case *turn.AddToField:
		s, ok := m.value(o.Key, turn.TypeHash)
		if !ok {
			return wrongType()
		}
		return m.addInt(o.Key, turn.TypeHash, s, o.Name, o.Delta)
	case *turn.SetFields:
		return m.setFields(o)
	case *turn.RemoveFields:
		return m.removeFields(o)
	case *turn.SetScores:
		return m.setScores(o)
	case *turn.RemoveScores:
		return m.removeScores(o)
	case *turn.StoreSets:
		return m.storeSets(o)
	case *turn.AddEntry:
		return m.addEntry(o)
	case *turn.TrimEntries:
		return m.reduceStream(o.Key, func(s *modelSession) uint64 { return s.trim(o.Trim) })
	case *turn.RemoveEntries:
		return m.reduceStream(o.Key, func(s *modelSession) uint64 {
			return s.removeEntries(func(e turn.Entry) bool { return slices.Contains(o.IDs, e.ID) })
		})
	}
	panic(fmt.Sprintf("no model for %T", op))
}

func (m *model) setString(o *turn.SetString) (r turn.Result, err *turn.Error) {
	s, ok := m.value(o.Key, turn.TypeString)
	if !ok && o.Get {
		return wrongType()
	}
	if s != nil {
		r.Revision = s.revision
		if o.Get {
			r.Found, r.Value = true, s.elements[""]
		}
	}
	if o.If == turn.SetIfAbsent && s != nil || o.If == turn.SetIfPresent && s == nil {
		return r, nil
	}
	if o.KeepValue && o.TTL == 0 && o.At == 0 && s.deadline == 0 {
		r.Count = 1
		return r, nil
	}
	value := o.Value
	if o.KeepValue {
		value = s.elements[""]
	}
	deadline := o.At
	if o.TTL > 0 {
		deadline = m.after(o.TTL)
	}
	if o.KeepTTL && s != nil {
		deadline = s.deadline
	}
	if there := m.sessions[o.Key]; there != nil &&
		(there.typ != turn.TypeString || deadline != 0 && deadline <= m.clock) {
		m.remove(o.Key)
	}
	r.Count = 1
	if deadline == 0 || deadline > m.clock {
		s = m.make(o.Key, turn.TypeString)
		s.elements[""], s.deadline = value, deadline
		m.changed(o.Key, s)
	}
	r.Revision = m.now(o.Key)
	return r, nil
}

func (m *model) addInt(k turn.Key, typ turn.Type, s *modelSession, name string,
	delta int64) (turn.Result, *turn.Error) {
	n := int64(0)
	if s != nil {
		if text, had := s.elements[name]; had {
			var err error
			n, err = strconv.ParseInt(string(text), 10, 64)
			if err != nil || text[0] == '+' || len(text) > 1 && text[0] == '0' || bytes.HasPrefix(text, []byte("-0")) {
				return invalid()
			}
		}
	}
	if delta > 0 && n > math.MaxInt64-delta || delta < 0 && n < math.MinInt64-delta {
		return invalid()
	}
	s = m.make(k, typ)
	s.elements[name] = []byte(fmt.Sprint(n + delta))
	m.changed(k, s)
	return turn.Result{Number: n + delta, Count: s.count(), Revision: s.revision}, nil
}

func (m *model) setFields(o *turn.SetFields) (r turn.Result, _ *turn.Error) {
	s, ok := m.value(o.Key, o.Type)
	if !ok {
		return wrongType()
	}
	changed := s == nil
	s = m.make(o.Key, o.Type)
	for _, f := range o.Fields {
		_, had := s.elements[f.Name]
		if !had {
			r.Number++
		}
		if !had || !o.OnlyNew && o.Type == turn.TypeHash {
			s.elements[f.Name] = f.Value
			changed = true
		}
	}
	if changed {
		m.changed(o.Key, s)
	}
	r.Count, r.Revision = s.count(), s.revision
	return r, nil
}

func (m *model) removeFields(o *turn.RemoveFields) (r turn.Result, _ *turn.Error) {
	s, ok := m.value(o.Key, o.Type)
	if !ok {
		return wrongType()
	}
	if s == nil {
		return r, nil
	}
	before := s.count()
	for _, n := range o.Names {
		delete(s.elements, n)
		delete(s.scores, n)
	}
	r.Removed = before - s.count()
	if r.Removed > 0 {
		return m.shrunk(o.Key, r), nil
	}
	r.Count, r.Revision = s.count(), s.revision
	return r, nil
}

// size is the account of bytes of a value.
func (s *modelSession) size() (n uint64) {
	for name, v := range s.elements {
		n += uint64(len(name) + len(v))
	}
	for name := range s.scores {
		n += uint64(1 + len(name) + 8)
	}
	for _, e := range s.entries {
		n += uint64(16 + entrySize(e.Fields))
	}
	return n
}

func (g *generator) name() string {
	return []string{"", "a", "b", "a\x00", "ab", "\xff", "long"}[g.rnd.IntN(7)]
}

func (g *generator) names() []string {
	names := make([]string, 1+g.rnd.IntN(4))
	for i := range names {
		names[i] = g.name()
	}
	return names
}

func (g *generator) content() []byte {
	switch g.rnd.IntN(6) {
	case 0:
		return nil
	case 1:
		return []byte([]string{"+1", "01", "-0", " 1", "9223372036854775807", "-9223372036854775808",
			"9223372036854775808"}[g.rnd.IntN(7)])
	case 2:
		return bytes.Repeat([]byte("x"), g.rnd.IntN(3000))
	}
	return []byte(fmt.Sprint(g.rnd.IntN(200) - 100))
}

func (g *generator) delta() int64 {
	if g.rnd.IntN(5) == 0 {
		return []int64{math.MaxInt64, math.MinInt64, 0}[g.rnd.IntN(3)]
	}
	return int64(g.rnd.IntN(100) - 50)
}

// value makes an operation on values, most often one of the type that is there.
func (g *generator) value(k turn.Key) turn.Op {
	typ := turn.Type(2 + g.rnd.IntN(5))
	if s := g.model.sessions[k]; s != nil && s.typ != turn.TypeList && g.rnd.IntN(8) > 0 {
		typ = s.typ
	}
	switch typ {
	case turn.TypeString:
		return g.stringOp(k)
	case turn.TypeHash, turn.TypeSet:
		return g.fieldsOp(k, typ)
	case turn.TypeZSet:
		return g.scoresOp(k)
	}
	return g.streamOp(k)
}

func (g *generator) stringOp(k turn.Key) turn.Op {
	if g.rnd.IntN(3) == 0 {
		return &turn.AddInt{Key: k, Delta: g.delta()}
	}
	o := &turn.SetString{Key: k, Value: g.content(), If: turn.SetIf(g.rnd.IntN(3)), Get: g.rnd.IntN(3) == 0}
	switch g.rnd.IntN(5) {
	case 0:
		o.TTL = int64(1 + g.rnd.IntN(2000))
	case 1:
		o.At = g.model.clock + int64(g.rnd.IntN(2000)-50)
	case 2:
		o.KeepTTL = true
	}
	if g.rnd.IntN(4) == 0 {
		o.KeepValue, o.Value, o.If, o.Get, o.KeepTTL = true, nil, turn.SetIfPresent, true, false
	}
	return o
}

func (g *generator) fieldsOp(k turn.Key, typ turn.Type) turn.Op {
	switch g.rnd.IntN(6) {
	case 5:
		return g.storeSets(k)
	case 0, 1:
		return &turn.RemoveFields{Key: k, Type: typ, Names: g.names()}
	case 2:
		if typ == turn.TypeHash {
			return &turn.AddToField{Key: k, Name: g.name(), Delta: g.delta()}
		}
	}
	o := &turn.SetFields{Key: k, Type: typ, OnlyNew: g.rnd.IntN(4) == 0}
	for _, n := range g.names() {
		f := turn.Field{Name: n}
		if typ == turn.TypeHash {
			f.Value = g.content()
		}
		o.Fields = append(o.Fields, f)
	}
	return o
}

// compareValue holds everything that can be read of a value against the model.
func (g *generator) compareValue(r *rig, k turn.Key, s *modelSession) {
	r.t.Helper()
	i := r.query(&turn.Info{Key: k}).Session
	if i == nil || i.Type != s.typ || i.Count != s.count() || i.Last != s.added || i.LastEntry != s.entry ||
		i.Bytes != s.size() || i.Revision != s.revision || i.ExpiresAt != s.deadline {
		r.t.Fatalf("%q is %+v, want a %v with %d elements, %d bytes, revision %d, deadline %d", k, i, s.typ, s.count(),
			s.size(), s.revision, s.deadline)
	}
	if _, err := r.m.Query(&turn.Read{Key: k}); turn.KindOf(err) != turn.WrongType {
		r.t.Fatalf("%q is a %v, to be read as a session: %v", k, s.typ, err)
	}
	switch s.typ {
	case turn.TypeString:
		if got := r.query(&turn.GetString{Key: k}); !got.Found || !bytes.Equal(got.Value, s.elements[""]) {
			r.t.Fatalf("%q holds %q, want %q", k, got.Value, s.elements[""])
		}
	case turn.TypeHash, turn.TypeSet:
		g.compareFields(r, k, s)
	case turn.TypeZSet:
		g.compareFields(r, k, s)
		g.compareScores(r, k, s)
	case turn.TypeStream:
		g.compareEntries(r, k, s)
	}
}

// named returns fields or members in the order of their names.
func (s *modelSession) named() (els []turn.Element) {
	for n, v := range s.elements {
		els = append(els, turn.Element{Name: n, Value: v})
	}
	for n, score := range s.scores {
		els = append(els, turn.Element{Name: n, Score: score})
	}
	slices.SortFunc(els, func(a, b turn.Element) int { return strings.Compare(a.Name, b.Name) })
	return els
}

func (g *generator) compareFields(r *rig, k turn.Key, s *modelSession) {
	r.t.Helper()
	want := s.named()
	q := turn.AllFields{Key: k, Type: s.typ, Limit: g.rnd.IntN(4)}
	var got []turn.Element
	for {
		page := r.query(&q)
		got = append(got, page.Elements...)
		if q.Cursor = page.Cursor; q.Cursor == "" {
			break
		}
	}
	if !sameResult(turn.Result{Elements: got}, turn.Result{Elements: want}) {
		r.t.Fatalf("%q holds %v, want %v", k, got, want)
	}
	names := g.names()
	want = nil
	for _, n := range names {
		el := turn.Element{Name: n, Missing: true}
		for _, there := range s.named() {
			if there.Name == n {
				el = there
			}
		}
		want = append(want, el)
	}
	if got := r.query(&turn.Fields{Key: k, Type: s.typ, Names: names}).Elements; !sameResult(turn.Result{Elements: got},
		turn.Result{Elements: want}) {
		r.t.Fatalf("%q: fields %q are %v, want %v", k, names, got, want)
	}
}

package fsm

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// modelBrought is a call that brought messages, of the fifth level.
type modelBrought struct {
	ms []turn.NewMessage // nil: it was no replace with an id
}

// brought returns what messages that come are brought by, nil before the fifth level.
func (m *model) brought(ms []turn.NewMessage, replaces bool) *modelBrought {
	switch {
	case m.level < turn.Level5:
		return nil
	case replaces && modelNamed(ms):
		return &modelBrought{ms}
	}
	return &modelBrought{}
}

// inc returns the number of a session.
func (m *model) inc(s *modelSession) uint64 {
	if s.inc == 0 {
		m.incs++
		s.inc = m.incs
	}
	return s.inc
}

// modelKnown is what is remembered of an id.
type modelKnown struct {
	last  modelAppended // that had it
	inc   uint64        // of that one
	at    modelPlace    // of the message that had it first
	first *modelAppended
}

// modelIncarnation is a session under a key, or one that was deleted.
type modelIncarnation struct {
	inc      uint64
	appended []modelAppended // those that are remembered
	from     uint64          // what came before is forgotten
}

func (i *modelIncarnation) find(want func(a *modelAppended) bool) *modelAppended {
	for _, a := range slices.Backward(i.appended) {
		if a.Seq >= i.from && want(&a) {
			return &a
		}
	}
	return nil
}

// incarnations returns what is remembered under a key, the newest first.
func (m *model) incarnations(k turn.Key, s *modelSession) (all []modelIncarnation) {
	if s != nil {
		all = append(all, modelIncarnation{m.inc(s), s.appended, windowFrom(s.last, s.moved)})
	}
	left := turn.TombstoneMessages
	for _, g := range slices.Backward(m.tombstones) {
		if g.key == k && g.deadline > m.clock && left > 0 {
			all = append(all, modelIncarnation{g.inc, g.appended, windowFrom(g.last, g.moved)})
			left -= g.weight()
		}
	}
	return all
}

func (m *model) known(key turn.Key, s *modelSession, id string) *modelKnown {
	if id == "" {
		return nil
	}
	has := func(a *modelAppended) bool { return a.ID == id }
	all := m.incarnations(key, s)
	for i, in := range all {
		last := in.find(has)
		if last == nil {
			continue
		}
		k := &modelKnown{*last, in.inc, modelPlace{in.inc, cmp.Or(last.first, last.Seq)}, last}
		if last.first > 0 {
			k.first = in.find(func(a *modelAppended) bool { return a.Seq == last.first })
		}
		if k.first == nil || !k.first.deleted {
			return k
		}
		k.first = nil
		for _, older := range slices.Backward(all[i+1:]) {
			if j := slices.IndexFunc(older.appended, func(a modelAppended) bool {
				return a.Seq >= older.from && has(&a)
			}); j >= 0 {
				if a := older.appended[j]; a.first == 0 && !a.deleted {
					k.at, k.first = modelPlace{older.inc, a.Seq}, &a
				}
				break
			}
		}
		return k
	}
	return nil
}

// used returns what is known of the ids of messages that a replace brings, nil before the fifth level.
func (m *model) used(key turn.Key, s *modelSession, ms []turn.NewMessage) []*modelKnown {
	if m.level < turn.Level5 || !modelNamed(ms) {
		return nil
	}
	all := make([]*modelKnown, len(ms))
	for i, n := range ms {
		all[i] = m.known(key, s, n.ID)
	}
	return all
}

// replacedBefore is duplicate for a replace.
func (m *model) replacedBefore(o *turn.Replace, s *modelSession, holds bool) (turn.Result, *turn.Error, bool) {
	if m.level < turn.Level5 || !modelNamed(o.Messages) {
		return m.duplicate(o.Key, s, o.Messages)
	}
	refused := &turn.Error{Kind: turn.Conflict}
	if s != nil {
		refused.Revision = s.revision
	}
	if !holds {
		then, sure, maybe := m.took(o, s)
		switch {
		case sure:
			return then, nil, true
		case maybe:
			return turn.Result{}, refused, true
		}
	}
	for _, n := range o.Messages {
		k := m.known(o.Key, s, n.ID)
		if k == nil {
			continue
		}
		payloads := [][]byte{k.last.Data}
		if k.first != nil {
			payloads = append(payloads, k.first.Data)
		}
		kept := false
		if a := s.remembers(n.ID); a != nil {
			for _, held := range s.list {
				_, moved := s.moved[held.Seq]
				if held.Seq == a.Seq || held.ID == n.ID && moved && held.Seq > a.Seq {
					payloads, kept = append(payloads, held.Data), held.Seq < o.From
				}
			}
		}
		if !slices.ContainsFunc(payloads, func(b []byte) bool { return bytes.Equal(b, n.Data) }) {
			return turn.Result{}, &turn.Error{Kind: turn.IDReused}, true
		}
		if kept {
			return turn.Result{}, refused, true
		}
	}
	return turn.Result{}, nil, false
}

// took reports whether a replace took place before: of several such, the first one that may have been it.
func (m *model) took(o *turn.Replace, s *modelSession) (r turn.Result, sure, maybe bool) {
	after, count := uint64(0), uint64(0)
	if o.Expect != nil {
		after = *o.Expect
	}
	if s != nil {
		count = s.count()
	}
	same := func(a, b turn.NewMessage) bool { return a.ID == b.ID && bytes.Equal(a.Data, b.Data) }
	last := len(o.Messages) - 1
	for o.Messages[last].ID == "" {
		last--
	}
	var told *turn.Result
	for _, i := range slices.Backward(m.incarnations(o.Key, s)) {
		for _, a := range i.appended {
			if a.Seq >= i.from && a.ID == o.Messages[last].ID && a.by != nil && a.revision > after &&
				slices.EqualFunc(a.by.ms, o.Messages, same) && told == nil {
				first := a.Seq - uint64(last)
				told = &turn.Result{First: first, Last: first + uint64(len(o.Messages)) - 1, Revision: a.revision,
					Count: count, Duplicate: true}
			}
		}
	}
	defer func() { // the earlier one counts
		if told != nil && (!sure || told.Revision < r.Revision) {
			r, sure, maybe = *told, true, true
		}
	}()
	// Or before the fifth level, where nothing tells of it but that the messages came one behind the other.
	k := m.known(o.Key, s, o.Messages[last].ID)
	if k == nil || k.first == nil || k.first.by != nil || k.first.revision <= after || k.at.seq <= uint64(last) ||
		!bytes.Equal(k.first.Data, o.Messages[last].Data) {
		return r, false, false
	}
	sure = last == len(o.Messages)-1
	for i, n := range o.Messages[:last] {
		at := modelPlace{k.at.inc, k.at.seq - uint64(last-i)}
		from := uint64(0)
		for _, other := range m.incarnations(o.Key, s) {
			if other.inc == at.inc {
				from = other.from
			}
		}
		if n.ID == "" || at.seq < from {
			sure = false
			continue
		}
		before := m.known(o.Key, s, n.ID)
		if before == nil || before.at != at || before.first == nil || before.first.by != nil ||
			!bytes.Equal(before.first.Data, n.Data) {
			return r, false, false
		}
	}
	return turn.Result{First: k.at.seq - uint64(last), Last: k.at.seq, Revision: k.first.revision, Count: count,
		Duplicate: true}, sure, true
}

// modelNamed reports whether one of some messages has an id.
func modelNamed(ms []turn.NewMessage) bool {
	return slices.ContainsFunc(ms, func(n turn.NewMessage) bool { return n.ID != "" })
}

// repeatedBefore answers a call that took place in a session which the key held before what it holds now.
func (m *model) repeatedBefore(op turn.Op) (r turn.Result, ok bool) {
	var refused *turn.Error
	switch o := op.(type) {
	case *turn.Append:
		r, refused, ok = m.duplicate(o.Key, nil, o.Messages)
	case *turn.Replace:
		r, refused, ok = m.replacedBefore(o, nil, false)
	}
	return r, ok && refused == nil && m.level >= turn.Level5 && m.expects == nil // not in a transaction
}

// inUse returns messages of which some have ids that a session remembers.
func (g *generator) inUse(k turn.Key) []turn.NewMessage {
	ms := g.messages(1)
	s := g.model.sessions[k]
	for i := range ms {
		if ms[i].ID == "" {
			ms[i].ID = fmt.Sprint("id", g.rnd.IntN(1_000_000))
		}
		if s == nil || len(s.appended) == 0 || g.rnd.IntN(4) == 0 {
			continue
		}
		a := s.appended[len(s.appended)-1-g.rnd.IntN(min(len(s.appended), 12))]
		if twice := func(n turn.NewMessage) bool { return n.ID == a.ID }; a.ID == "" || slices.ContainsFunc(ms, twice) {
			continue
		}
		ms[i].ID = a.ID
		if g.rnd.IntN(4) > 0 {
			ms[i].Data = a.Data
		}
	}
	return ms
}

// Few ids, payloads and sessions, so that most calls bring what others brought before: all of it, a part, or more.
func TestReplacesAgainstModel(t *testing.T) {
	runs := 24
	if testing.Short() {
		runs = 4
	}
	for seed := range uint64(runs) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			g := &generator{rnd: rand.New(rand.NewPCG(seed, 5)), model: newModel()}
			g.next = g.savedList
			r := newRig(t)
			stamp := int64(1_000_000)
			for i := range 300 {
				if level, ok := map[int]turn.ClusterLevel{0: turn.Level4, 40: turn.Level5}[i]; ok {
					r.raise(level)
					g.model.level = level
				}
				switch g.rnd.IntN(20) {
				case 0:
					r.flush()
				case 1:
					r.restart()
				}
				if stamp += int64(g.rnd.IntN(100)); g.rnd.IntN(40) == 0 {
					stamp += turn.TombstoneTime
				}
				g.step(r, stamp)
				g.compare(r)
			}
		})
	}
}

// savedList is an operation of the kind that saves a list of messages again and again, or one that was sent before.
func (g *generator) savedList() turn.Op {
	if op := g.earlier(); op != nil && g.rnd.IntN(4) == 0 {
		return op
	}
	op := g.newSavedList()
	g.sent = append(g.sent[max(0, len(g.sent)-20):], op)
	return op
}

func (g *generator) newSavedList() turn.Op {
	k, fork := sessionA, turn.Key{Namespace: "0", Name: "ab"}
	if g.rnd.IntN(8) == 0 {
		k = fork
	}
	var ms []turn.NewMessage
	for i, n := g.rnd.IntN(3), 1+g.rnd.IntN(4); len(ms) < n; i++ {
		id := string(rune('a' + i))
		m := turn.NewMessage{ID: id, Data: []byte(id)}
		if g.rnd.IntN(12) == 0 {
			m.Data = []byte("another")
		}
		if g.rnd.IntN(30) == 0 {
			m.ID = ""
		}
		ms = append(ms, m)
	}
	from := uint64(1)
	if s := g.model.sessions[k]; s != nil && g.rnd.IntN(2) == 0 {
		from = max(1, s.last-min(s.last, uint64(g.rnd.IntN(5))))
	}
	replace := &turn.Replace{Key: k, From: from, Messages: ms, Expect: g.expect(k)}
	switch g.rnd.IntN(24) {
	case 0:
		return &turn.Pop{Key: k, From: turn.Newest, Count: 1}
	case 1:
		return &turn.Delete{Keys: []turn.Key{k}}
	case 2:
		return &turn.Fork{Key: sessionA, To: fork}
	case 3:
		return &turn.Rename{Key: k, To: fork, Replace: true}
	case 4:
		return &turn.InsertElement{Key: k, Pivot: []byte("b"), Data: []byte("x")}
	case 5:
		return &turn.EditMessage{Key: k, Message: byID("b"), Data: []byte("edited")}
	case 6:
		tx := all("", replace, &turn.SetMetadata{Key: k, Set: map[string]string{"k": "v"}})
		if replace.Expect != nil {
			tx.Conditions = []turn.Condition{{Key: k, Is: turn.AtRevision, N: *replace.Expect}}
		}
		replace.Expect = nil
		return tx
	case 13:
		return all("", &turn.Delete{Keys: []turn.Key{k}}, &turn.SetFields{Key: k, Type: turn.TypeHash,
			Fields: []turn.Field{{Name: "f", Value: []byte("v")}}})
	case 7:
		return &turn.Retain{Key: k, Keep: turn.Retention{Messages: g.rnd.Uint64N(5)}}
	case 8, 9:
		return &turn.PushOnce{Key: k, Messages: ms}
	case 10, 11, 12:
		return &turn.Append{Key: k, Messages: ms}
	}
	return replace
}

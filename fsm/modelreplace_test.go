package fsm

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// modelBrought is a call that brought messages with ids.
type modelBrought struct {
	replaces bool // with ids for all of them
	first    uint64
	ms       []turn.NewMessage
}

// brought returns the call of messages that a session is about to have, nil before the fifth level.
func (m *model) brought(s *modelSession, ms []turn.NewMessage, replaces bool) *modelBrought {
	if m.level < turn.Level5 {
		return nil
	}
	return &modelBrought{replaces && modelNamed(ms), s.last + 1, ms}
}

// appendedBefore is duplicate for messages whose ids may have been given again since, by a replace.
func (m *model) appendedBefore(
	key turn.Key, s *modelSession, ms []turn.NewMessage,
) (turn.Result, *turn.Error, bool) {
	r, refused, done := m.duplicate(key, s, ms)
	if !done || m.level < turn.Level5 || !modelNamed(ms) {
		return r, refused, done
	}
	if then, ok, _ := m.earlier(key, s, ms, false); ok {
		return then, nil, true
	}
	return r, refused, done
}

// replacedBefore is duplicate for a replace.
func (m *model) replacedBefore(o *turn.Replace, s *modelSession) (turn.Result, *turn.Error, bool) {
	if m.level < turn.Level5 || !modelNamed(o.Messages) {
		return m.duplicate(o.Key, s, o.Messages)
	}
	refused := &turn.Error{Kind: turn.Conflict}
	if s != nil {
		refused.Revision = s.revision
	}
	then, ok, partly := m.earlier(o.Key, s, o.Messages, true)
	if s != nil && o.Expect != nil && *o.Expect == s.revision {
		ok, partly = false, false
	}
	switch {
	case ok:
		return then, nil, true
	case partly:
		return turn.Result{}, refused, true
	}
	for _, n := range o.Messages {
		known := [][]byte{}
		var before, here bool
		if a := s.remembers(n.ID); a != nil {
			known, here = append(known, a.Data), true
			for _, held := range s.list {
				_, moved := s.moved[held.Seq]
				if held.Seq == a.Seq || held.ID == n.ID && moved && held.Seq > a.Seq {
					known, before = append(known, held.Data), held.Seq < o.From
				}
			}
		}
		if a := m.deletedWith(o.Key, n.ID); a != nil && !here {
			known = append(known, a.Data)
		}
		if len(known) > 0 && !slices.ContainsFunc(known, func(b []byte) bool { return bytes.Equal(b, n.Data) }) {
			return turn.Result{}, &turn.Error{Kind: turn.IDReused}, true
		}
		if before {
			return turn.Result{}, refused, true
		}
	}
	return turn.Result{}, nil, false
}

// deletedWith returns the message with an id that is remembered of deleted sessions of a key, the last one.
func (m *model) deletedWith(k turn.Key, id string) *modelAppended {
	left := turn.TombstoneMessages
	for _, g := range slices.Backward(m.tombstones) {
		if g.key == k && g.deadline > m.clock && left > 0 {
			if a := remembers(id, g.appended, windowFrom(g.last, g.moved)); a != nil {
				return a
			}
			left -= g.weight()
		}
	}
	return nil
}

func modelNamed(ms []turn.NewMessage) bool {
	return len(ms) > 0 && !slices.ContainsFunc(ms, func(n turn.NewMessage) bool { return n.ID == "" })
}

// earlier looks for messages as one call brought them, a replace that brought just these or another one, the last
// time, in all that is remembered under a key. partly: of the call that brought the last one, the beginning is no
// longer remembered.
func (m *model) earlier(
	key turn.Key, s *modelSession, ms []turn.NewMessage, replace bool,
) (r turn.Result, ok, partly bool) {
	if s != nil {
		r, ok, partly = earlierIn(s.appended, windowFrom(s.last, s.moved), ms, replace)
	}
	left := turn.TombstoneMessages
	for _, g := range slices.Backward(m.tombstones) {
		if g.key == key && g.deadline > m.clock && left > 0 {
			if !ok && !partly {
				r, ok, partly = earlierIn(g.appended, windowFrom(g.last, g.moved), ms, replace)
			}
			left -= g.weight()
		}
	}
	if s != nil {
		r.Count = uint64(len(s.list))
	}
	return r, ok, partly
}

func earlierIn(
	appended []modelAppended, from uint64, ms []turn.NewMessage, replace bool,
) (r turn.Result, ok, partly bool) {
	at := make(map[uint64]modelAppended)
	for _, a := range appended {
		at[a.Seq] = a
	}
	for _, last := range slices.Backward(appended) {
		by := last.by
		replaced := by != nil && by.replaces
		if last.Seq < from || last.ID == "" || by != nil && replaced != replace {
			continue
		}
		if replaced && last.Seq != by.first+uint64(len(by.ms))-1 {
			continue // it brought others behind it
		}
		same := true
		for i := 0; i < len(ms) && same; i++ {
			n, seq := ms[len(ms)-1-i], int64(last.Seq)-int64(i)
			if replaced && seq < int64(by.first) {
				same = false
				break
			}
			if seq < int64(from) {
				return r, false, i > 0
			}
			a := at[uint64(seq)]
			same = a.ID == n.ID && bytes.Equal(a.Data, n.Data) && a.revision == last.revision &&
				(a.by != nil && a.by.replaces) == replaced
			if replace {
				same = same && a.by == by
			}
		}
		first := last.Seq - uint64(len(ms)) + 1
		if same && (!replaced || first == by.first) {
			return turn.Result{First: first, Last: last.Seq, Revision: last.revision, Duplicate: true}, true, false
		}
	}
	return r, false, false
}

// known returns messages of which some have ids that a session remembers.
func (g *generator) known(k turn.Key) []turn.NewMessage {
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
				stamp += int64(g.rnd.IntN(100))
				g.step(r, stamp)
				g.compare(r)
			}
		})
	}
}

// savedList is an operation of the kind that saves a list of messages again and again.
func (g *generator) savedList() turn.Op {
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
		replace.Expect = nil
		return all("", replace, &turn.SetMetadata{Key: k, Set: map[string]string{"k": "v"}})
	case 7, 8, 9, 10, 11, 12:
		return &turn.Append{Key: k, Messages: ms}
	}
	return replace
}

package fsm

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// modelPushes is what a session knows of what was pushed to it. A message has its mark for life, wherever it is
// moved, also by a renaming.
type modelPushes struct {
	marks   map[uint64]uint64 // by seq
	dropped map[uint64]bool   // marks of what the retention dropped
	lastID  uint64            // the highest seq that came with an id
	session uint64            // the mark of a session that came from a renaming
}

// modelRenamed is the session that a key was renamed to; 0: it was not.
type modelRenamed struct {
	key     turn.Key
	session uint64
}

// mark gives a message that was just pushed its mark.
func (m *model) mark(s *modelSession, msg turn.Message) {
	m.marks++
	s.pushes.set(msg.Seq, m.marks)
	if msg.ID != "" {
		s.pushes.lastID = msg.Seq
	}
}

func (p *modelPushes) set(seq, mark uint64) {
	if p.marks == nil {
		p.marks = make(map[uint64]uint64)
	}
	p.marks[seq] = mark
}

// copied returns what changes without these.
func (p *modelPushes) copied() modelPushes {
	c := *p
	c.marks, c.dropped = maps.Clone(p.marks), maps.Clone(p.dropped)
	return c
}

func (p *modelPushes) move(from, to uint64) { p.set(to, p.marks[from]) }

func (p *modelPushes) drop(ms []turn.Message) {
	if p.dropped = maps.Clone(p.dropped); p.dropped == nil {
		p.dropped = make(map[uint64]bool)
	}
	for _, msg := range ms {
		p.dropped[p.marks[msg.Seq]] = true
	}
}

// keeps reports whether a session holds a message, or its retention dropped it.
func (s *modelSession) keeps(mark uint64) bool {
	return s.pushes.dropped[mark] ||
		slices.ContainsFunc(s.list, func(x turn.Message) bool { return s.pushes.marks[x.Seq] == mark })
}

// remembers returns the message that was appended with an id, nil if none is remembered.
func remembers(id string, appended []modelAppended, from uint64) *modelAppended {
	for _, a := range slices.Backward(appended) {
		if id != "" && a.ID == id && a.Seq >= from {
			return &a
		}
	}
	return nil
}

func (s *modelSession) remembers(id string) *modelAppended {
	if s == nil {
		return nil
	}
	return remembers(id, s.appended, windowFrom(s.last, s.moved))
}

// firstIn returns the message that had an id first, nil if it is not remembered here.
func firstIn(a *modelAppended, appended []modelAppended, from uint64) *modelAppended {
	if a.first == 0 {
		return a
	}
	for _, b := range appended {
		if a.first == b.Seq && b.Seq >= from {
			return &b
		}
	}
	return nil
}

func (s *modelSession) first(a *modelAppended) *modelAppended {
	return firstIn(a, s.appended, windowFrom(s.last, s.moved))
}

func (m *model) pushOnce(o *turn.PushOnce) (turn.Result, *turn.Error) {
	s := m.sessions[o.Key]
	if o.OnlyExisting && (s == nil || len(s.list) == 0) {
		return turn.Result{}, nil
	}
	if s != nil {
		var found []modelAppended
		for _, n := range o.Messages {
			a := s.remembers(n.ID)
			if a == nil {
				continue
			}
			kept, first := s.keeps(s.pushes.marks[a.Seq]), s.first(a)
			if first != nil {
				kept = kept || s.keeps(s.pushes.marks[first.Seq])
			}
			if !kept {
				continue
			}
			if first != nil && bytes.Equal(first.Data, n.Data) {
				a = first
			}
			if !bytes.Equal(a.Data, n.Data) {
				return turn.Result{}, &turn.Error{Kind: turn.IDReused}
			}
			found = append(found, *a)
		}
		if len(found) > 0 {
			return pushedBefore(found, len(o.Messages), s)
		}
	}
	left := turn.TombstoneMessages
	for _, g := range slices.Backward(m.tombstones) {
		if g.key != o.Key || g.deadline <= m.clock || left <= 0 {
			continue
		}
		left -= g.weight()
		if found := m.heldRenamed(g, o.Messages); len(found) > 0 {
			return pushedBefore(found, len(o.Messages), s)
		}
	}
	return m.extend(o.Key, s, &turn.Append{Messages: o.Messages, Side: o.Side}), nil
}

func pushedBefore(found []modelAppended, want int, s *modelSession) (turn.Result, *turn.Error) {
	whole, revision := len(found) == want, uint64(0)
	for i := range found {
		whole = whole && found[i].Seq == found[0].Seq+uint64(i)
	}
	if s != nil {
		revision = s.revision
	}
	if !whole {
		return turn.Result{}, &turn.Error{Kind: turn.Conflict, Revision: revision}
	}
	last := found[len(found)-1]
	r := turn.Result{First: found[0].Seq, Last: last.Seq, Duplicate: true, Revision: last.revision}
	if s != nil {
		r.Count = s.count()
	}
	return r, nil
}

// heldRenamed returns the messages of a push to a key that was renamed since which are still kept.
func (m *model) heldRenamed(g modelTombstone, ms []turn.NewMessage) (found []modelAppended) {
	s := m.renamedTo(g.renamed)
	if s == nil {
		return nil
	}
	var first *modelAppended
	for i, n := range ms {
		a := remembers(n.ID, g.appended, windowFrom(g.last, g.moved))
		if a != nil {
			a = cmp.Or(firstIn(a, g.appended, windowFrom(g.last, g.moved)), a)
		}
		if i == 0 {
			first = a
		}
		if a == nil || !bytes.Equal(a.Data, n.Data) || a.revision != first.revision || a.Seq != first.Seq+uint64(i) {
			return nil
		}
		now := s.remembers(n.ID)
		if s.keeps(g.pushes.marks[a.Seq]) || now != nil && s.keeps(s.pushes.marks[now.Seq]) {
			found = append(found, *a)
		}
	}
	return found
}

// renamedTo returns the session that a key was renamed to, and renamed again since.
func (m *model) renamedTo(of modelRenamed) *modelSession {
	for range 8 {
		if s := m.sessions[of.key]; of.session > 0 && s != nil && s.pushes.session == of.session {
			return s
		}
		i := slices.IndexFunc(m.tombstones, func(g modelTombstone) bool {
			return of.session > 0 && g.pushes.session == of.session && g.key == of.key && g.deadline > m.clock &&
				g.remembered()
		})
		if i < 0 {
			return nil
		}
		of = m.tombstones[i].renamed
	}
	return nil
}

// pushOnce makes a push, most often of messages with ids.
func (g *generator) pushOnce(k turn.Key) turn.Op {
	o := &turn.PushOnce{Key: k, Messages: g.messages(1), OnlyExisting: g.rnd.IntN(10) == 0}
	if g.rnd.IntN(3) == 0 {
		o.Side = turn.Head
	}
	for i := range o.Messages {
		if g.rnd.IntN(8) > 0 {
			o.Messages[i].ID = fmt.Sprint("push", g.rnd.IntN(1_000_000))
		}
	}
	return o
}

// pushing makes operations on lists that are renamed and edited, and pushes that come again.
func (g *generator) pushing() turn.Op {
	name := func() turn.Key { return turn.Key{Namespace: "0", Name: []string{"a", "b", "c"}[g.rnd.IntN(3)]} }
	k := name()
	var op turn.Op
	if g.rnd.IntN(6) == 0 {
		if op := g.afterRename(); op != nil {
			return op
		}
	}
	switch n := g.rnd.IntN(24); {
	case n < 6:
		op = g.pushOnce(k)
	case n < 13:
		if sent, _ := g.earlier().(*turn.PushOnce); sent != nil {
			again := *sent
			if g.rnd.IntN(8) == 0 {
				again.Messages = append(slices.Clone(sent.Messages), g.messages(1)[:1]...)
			}
			return &again
		}
		op = g.pushOnce(k)
	case n < 16:
		op = &turn.Rename{Key: k, To: name(), List: true, Replace: g.rnd.IntN(2) == 0}
	case n < 18:
		op = &turn.MoveElement{Key: k, To: name(), From: turn.Side(g.rnd.IntN(2)), On: turn.Side(g.rnd.IntN(2))}
	case n < 19:
		op = &turn.Delete{Keys: []turn.Key{k}, List: true}
	case n < 20:
		op = g.retain(k)
	case n < 21:
		op = &turn.Pop{Key: k, From: turn.Side(g.rnd.IntN(2)), Count: 1 + uint64(g.rnd.IntN(4)), List: true}
	case n < 22:
		op = g.messageEdit(k)
	default:
		op = g.listEdit(k)
	}
	g.sent = append(g.sent[max(0, len(g.sent)-20):], op)
	return op
}

// Pushes that come again to lists that are renamed, moved, shortened and edited in between do what the model says,
// wherever the state is.
func TestPushesAgainstModel(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 31))
			g := &generator{rnd: rnd, model: newModel()}
			g.next = g.pushing
			r, forgets := newRig(t), newRig(t)
			level := turn.Level2 + turn.ClusterLevel(seed%2)
			r.raise(level)
			g.model.level = level
			stamp := int64(1_000_000)
			for i := range 300 {
				if stamp += int64(rnd.IntN(200)); rnd.IntN(60) == 0 {
					stamp += turn.TombstoneTime
				}
				g.step(r, stamp)
				forgets.applyLog(r.log[len(forgets.log):])
				forgets.forget(rnd)
				if i%10 == 9 {
					g.compare(r)
				}
				if i%75 != 74 {
					continue
				}
				if a, b := storedHash(t, r), storedHash(t, forgets); a != b {
					t.Fatalf("entry %d: state %s where all is kept, %s where not", r.index, a, b)
				}
			}
		})
	}
}

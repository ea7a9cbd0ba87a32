package fsm

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/turnlog/turnlog/turn"
)

// modelAnswer is the answer to a transaction that took place as a whole.
type modelAnswer struct {
	tx       *turn.Tx
	result   turn.Result
	deadline int64
}

// modelTxID is what a transaction is known by: its keys, too, since the fourth level.
type modelTxID struct{ namespace, id, keys string }

func (m *model) txIDs(o *turn.Tx) []modelTxID {
	before := modelTxID{namespace: o.Namespace(), id: o.ID}
	if m.level < turn.Level4 {
		return []modelTxID{before}
	}
	names := make(map[string]bool)
	for _, k := range o.Keys() {
		names[k.Name] = true
	}
	return []modelTxID{{before.namespace, o.ID, fmt.Sprintf("%q", slices.Sorted(maps.Keys(names)))}, before}
}

// copied returns a model that changes without this one.
func (m *model) copied() *model {
	c := *m
	c.revisions, c.floors = maps.Clone(m.revisions), maps.Clone(m.floors)
	c.sessions, c.tombstones = make(map[turn.Key]*modelSession), slices.Clone(m.tombstones)
	for k, s := range m.sessions {
		s := *s
		s.elements, s.scores, s.entries = maps.Clone(s.elements), maps.Clone(s.scores), slices.Clone(s.entries)
		s.list, s.appended = slices.Clone(s.list), slices.Clone(s.appended)
		s.inside, s.pushes = maps.Clone(s.inside), s.pushes.copied()
		c.sessions[k] = &s
	}
	return &c
}

// transactAll tries the steps on a copy.
func (m *model) transactAll(o *turn.Tx) (turn.Result, *turn.Error) {
	ids := m.txIDs(o)
	for _, id := range ids {
		a, known := m.answers[id]
		if !known || a.deadline <= m.clock {
			continue
		}
		if fmt.Sprintf("%#v", stepsText(a.tx)) != fmt.Sprintf("%#v", stepsText(o)) {
			return turn.Result{}, &turn.Error{Kind: turn.IDReused}
		}
		r := a.result
		r.Duplicate = true
		return r, nil
	}
	for i, c := range o.Conditions {
		if err := m.holds(c); err != nil {
			err.Condition = i + 1
			return turn.Result{}, err
		}
	}
	trial, types := m.copied(), make(map[turn.Key]turn.Type)
	trial.expects = make(map[turn.Key]bool)
	for _, c := range o.Conditions {
		trial.expects[c.Key] = trial.expects[c.Key] || c.Is == turn.AtRevision && c.N > 0
	}
	var r turn.Result
	for i, s := range o.Steps {
		err := m.fitting(s.Op, types)
		if k, messages, ok := brings(s.Op); ok && err == nil {
			if now := trial.sessions[k]; now == nil || now.typ == turn.TypeList {
				err = m.newTo(k, messages, s.Op, trial.expects[k])
			}
		}
		var out turn.Outcome
		if err == nil {
			out.Result, err = trial.apply(m.named(s.Op))
		}
		if err != nil {
			return turn.Result{}, &turn.Error{Kind: err.Kind, Revision: err.Revision, Step: i + 1}
		}
		r.Steps = append(r.Steps, out)
	}
	answers := m.answers
	*m = *trial
	m.expects = nil
	m.answers = answers
	r.Revision = m.now(turn.Key{Namespace: o.Namespace()})
	if o.ID != "" {
		if m.answers == nil {
			m.answers = make(map[modelTxID]modelAnswer)
		}
		m.answers[ids[0]] = modelAnswer{o, r, m.after(turn.TransactionTime)}
	}
	return r, nil
}

func stepsText(o *turn.Tx) string {
	text := fmt.Sprintf("%+v", o.Conditions)
	for _, s := range o.Steps {
		text += fmt.Sprintf("%T %+v", s.Op, s.Op)
	}
	return text
}

func (m *model) holds(c turn.Condition) *turn.Error {
	s := m.sessions[c.Key]
	revision, last := uint64(0), uint64(0)
	if s != nil {
		revision, last = s.revision, s.last
	}
	ok := true
	switch c.Is {
	case turn.AtRevision:
		ok = revision == c.N
	case turn.AtSeq:
		if s != nil && s.typ != turn.TypeList {
			return &turn.Error{Kind: turn.WrongType}
		}
		ok = last == c.N
	case turn.Present:
		ok = s != nil
	case turn.Absent:
		ok = s == nil
	}
	if ok {
		return nil
	}
	return &turn.Error{Kind: turn.Conflict, Revision: revision}
}

// fitting refuses a step that has a key hold another type than a step before, unless one
// in between deletes it.
func (m *model) fitting(op turn.Op, types map[turn.Key]turn.Type) *turn.Error {
	switch o := op.(type) {
	case *turn.SetFields:
		return m.mixed(o.Key, o.Type, types)
	case *turn.RemoveFields:
		return m.mixed(o.Key, o.Type, types)
	case *turn.Append, *turn.SetMetadata, *turn.Clear, *turn.Trim, *turn.Pop, *turn.EditMessage, *turn.RemoveMessage,
		*turn.Replace, *turn.Retain:
		return m.mixed(sessionOf(op), turn.TypeList, types)
	case *turn.Delete:
		for _, k := range o.Keys {
			delete(types, k)
		}
	case *turn.Expire:
		if o.Slide {
			return m.mixed(o.Key, turn.TypeList, types)
		}
		if o.HasTTL && o.TTL <= 0 || o.HasAt && o.At <= m.clock {
			delete(types, o.Key)
		}
	}
	return nil
}

func (m *model) mixed(k turn.Key, typ turn.Type, types map[turn.Key]turn.Type) *turn.Error {
	if was := types[k]; was != turn.TypeNone && was != typ {
		return &turn.Error{Kind: turn.WrongType}
	}
	types[k] = typ
	return nil
}

// brings returns the messages that a step adds to a session.
func brings(op turn.Op) (turn.Key, []turn.NewMessage, bool) {
	switch o := op.(type) {
	case *turn.Append:
		return o.Key, o.Messages, true
	case *turn.Replace:
		return o.Key, o.Messages, true
	}
	return turn.Key{}, nil, false
}

// newTo refuses messages that are known from before the transaction.
func (m *model) newTo(k turn.Key, messages []turn.NewMessage, op turn.Op, holds bool) *turn.Error {
	s := m.sessions[k]
	if s != nil && s.typ != turn.TypeList {
		s = nil
	}
	_, err, known := m.duplicate(k, s, messages)
	if o, replaces := op.(*turn.Replace); replaces {
		_, err, known = m.replacedBefore(o, s, holds)
	}
	if known && err == nil {
		err = &turn.Error{Kind: turn.Conflict}
		if s != nil {
			err.Revision = s.revision
		}
	}
	return err
}

// named returns a step that names the message by its seq that the step edits or removes: the one that is
// there before the transaction.
func (m *model) named(op turn.Op) turn.Op {
	seqOf := func(k turn.Key, ref turn.MessageRef) turn.MessageRef {
		if s := m.sessions[k]; s != nil {
			if i := s.index(ref); i >= 0 {
				return turn.MessageRef{Seq: s.list[i].Seq}
			}
		}
		return turn.MessageRef{Seq: math.MaxUint64}
	}
	switch o := op.(type) {
	case *turn.EditMessage:
		return &turn.EditMessage{Key: o.Key, Message: seqOf(o.Key, o.Message), Data: o.Data}
	case *turn.RemoveMessage:
		return &turn.RemoveMessage{Key: o.Key, Message: seqOf(o.Key, o.Message)}
	}
	return op
}

// txAll returns a transaction that takes place as a whole, or not at all. Some of its steps
// come from what was sent before, so that it is refused.
func (g *generator) txAll() turn.Op {
	o, k := &turn.Tx{All: true}, g.key()
	if g.rnd.IntN(4) > 0 {
		o.ID = fmt.Sprint("tx", g.rnd.IntN(200))
	}
	key := func() turn.Key {
		name := []string{"a", "b", "a\x00b", "v", "w", "x", "h", "i"}[g.rnd.IntN(8)]
		return turn.Key{Namespace: k.Namespace, Name: name}
	}
	for range g.rnd.IntN(3) {
		c := turn.Condition{Key: key(), Is: turn.ConditionIs(g.rnd.IntN(4))}
		if s := g.model.sessions[c.Key]; s != nil {
			c.N = map[turn.ConditionIs]uint64{turn.AtRevision: s.revision, turn.AtSeq: s.last}[c.Is]
			if c.Is == turn.Absent && g.rnd.IntN(3) > 0 {
				c.Is = turn.Present
			}
		} else if c.Is == turn.Present && g.rnd.IntN(3) > 0 {
			c.Is = turn.Absent
		}
		if g.rnd.IntN(8) == 0 {
			c.N++
		}
		o.Conditions = append(o.Conditions, c)
	}
	for range 1 + g.rnd.IntN(6) {
		steps := o.Steps
		if o.Steps = append(steps, turn.Step{Op: g.stepOfAll(key())}); o.Validate(turn.DefaultLimits()) != nil {
			o.Steps = steps // it would have to come before others
		}
	}
	if len(o.Steps) == 0 {
		o.Steps = []turn.Step{{Op: &turn.Clear{Key: k}}}
	}
	return o
}

func (g *generator) stepOfAll(k turn.Key) turn.Op {
	fields := []turn.Field{{Name: g.name(), Value: g.content()}, {Name: g.name(), Value: g.content()}}
	switch g.rnd.IntN(18) {
	case 12, 13, 14, 15, 16:
		return g.laterStep(k)
	case 0:
		return &turn.SetMetadata{Key: k, Set: map[string]string{fmt.Sprint(g.rnd.IntN(3)): "all"}, Unset: []string{"1"}}
	case 1:
		return &turn.Clear{Key: k}
	case 2:
		return &turn.Delete{Keys: []turn.Key{k}}
	case 3:
		return &turn.Trim{Key: k, By: turn.TrimBy(g.rnd.IntN(3)), N: uint64(g.rnd.IntN(40)),
			Start: int64(g.rnd.IntN(9)), Stop: int64(g.rnd.IntN(20))}
	case 4:
		e := &turn.Expire{Key: k}
		switch g.rnd.IntN(3) {
		case 0:
			e.HasTTL, e.TTL, e.Slide = true, int64(1+g.rnd.IntN(2000)), true
		case 1:
			e.HasAt, e.At = true, g.model.clock+int64(g.rnd.IntN(2000)-400)
		}
		return e
	case 5, 6, 7:
		k.Name = []string{k.Name, "h", "i"}[g.rnd.IntN(3)]
		return &turn.SetFields{Key: k, Type: turn.TypeHash, Fields: fields}
	case 8:
		k.Name = []string{k.Name, "h", "i"}[g.rnd.IntN(3)]
		return &turn.RemoveFields{Key: k, Type: turn.TypeHash, Names: g.names()}
	}
	if a, ok := g.earlier().(*turn.Append); ok && a.Key.Namespace == k.Namespace && g.rnd.IntN(6) == 0 {
		return &turn.Append{Key: a.Key, Messages: a.Messages}
	}
	a := &turn.Append{Key: k, Messages: g.messages(1)}
	if g.rnd.IntN(4) == 0 {
		a.Set = map[string]string{fmt.Sprint(g.rnd.IntN(3)): "with it"}
	}
	return a
}

// laterStep makes a step of the kinds that came last: without conditions.
func (g *generator) laterStep(k turn.Key) turn.Op {
	switch g.rnd.IntN(6) {
	case 0:
		return &turn.Pop{Key: k, From: turn.Side(g.rnd.IntN(3)), Count: 1 + g.rnd.Uint64N(7), List: g.rnd.IntN(4) == 0}
	case 1:
		op := g.retain(k).(*turn.Retain)
		op.Expect = nil
		return op
	case 2:
		op := g.rename(k).(*turn.Rename)
		op.Expect = nil
		return op
	case 3:
		messages := g.messages(1)
		if old, ok := g.earlier().(*turn.Append); ok && old.Key == k && g.rnd.IntN(4) == 0 {
			messages = old.Messages
		}
		if g.rnd.IntN(2) == 0 {
			messages = g.inUse(k)
		}
		return &turn.Replace{Key: k, From: 1 + g.rnd.Uint64N(40), Messages: messages[:g.rnd.IntN(len(messages)+1)]}
	}
	switch op := g.messageEdit(k).(type) {
	case *turn.EditMessage:
		op.Expect = nil
		return op
	case *turn.RemoveMessage:
		op.Expect = nil
		return op
	}
	panic("an edit of another kind")
}

// earlier returns an operation that was sent before, nil if there is none.
func (g *generator) earlier() turn.Op {
	if len(g.sent) == 0 {
		return nil
	}
	return g.sent[g.rnd.IntN(len(g.sent))]
}

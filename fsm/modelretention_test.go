package fsm

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/turnlog/turnlog/turn"
)

func (m *model) retain(o *turn.Retain) (turn.Result, *turn.Error) {
	s := m.sessions[o.Key]
	if err := m.expect(o.Expect, s); err != nil {
		return turn.Result{}, err
	}
	if s == nil && o.Keep == (turn.Retention{}) {
		return turn.Result{}, nil
	}
	if s == nil {
		s = &modelSession{typ: turn.TypeList}
		m.sessions[o.Key] = s
	} else if s.keep == o.Keep {
		return turn.Result{Count: uint64(len(s.list)), Revision: s.revision}, nil
	}
	s.keep, s.turns = o.Keep, s.turnsBefore()
	s.turns = s.turns[max(0, len(s.turns)-int(o.Keep.Turns)):]
	before := len(s.list)
	s.shorten()
	m.changed(o.Key, s)
	return turn.Result{Removed: uint64(before - len(s.list)), Count: uint64(len(s.list)), Revision: s.revision}, nil
}

// turnsBefore returns where the turns of all messages begin.
func (s *modelSession) turnsBefore() (starts []uint64) {
	revision := uint64(0)
	for _, msg := range s.bySeq() {
		if len(s.turns) > 0 && msg.Seq >= s.turns[0] {
			break
		}
		if was := s.revisionOf(msg.Seq); was == 0 || was != revision {
			starts = append(starts, msg.Seq)
		}
		revision = s.revisionOf(msg.Seq)
	}
	return append(starts, s.turns...)
}

func (s *modelSession) beginTurn() {
	if s.keep.Turns > 0 {
		starts := append(slices.Clone(s.turns), s.last+1)
		s.turns = starts[max(0, len(starts)-int(s.keep.Turns)):]
	}
}

// endTurns forgets the turns behind the newest message.
func (s *modelSession) endTurns() {
	newest := uint64(0)
	for _, msg := range s.list {
		newest = max(newest, msg.Seq)
	}
	s.turns = slices.DeleteFunc(slices.Clone(s.turns), func(start uint64) bool { return start > newest })
}

// shorten drops the oldest messages by the book.
func (s *modelSession) shorten() {
	all, over := s.bySeq(), 0
	switch {
	case s.keep.Messages > 0:
		over = max(0, len(all)-int(s.keep.Messages))
	case s.keep.Turns > 0 && len(s.turns) == int(s.keep.Turns):
		for _, msg := range all {
			if msg.Seq < s.turns[0] {
				over++
			}
		}
	}
	cut := over
	for cut > max(0, over-turn.ToolReach) && s.inside[all[cut].Seq] {
		cut--
	}
	if cut > 0 {
		s.pushes.drop(all[:cut])
		s.filter(func(x turn.Message) bool { return x.Seq >= all[cut].Seq })
	}
}

// toolsOf reads what toolMessage made.
func toolsOf(m turn.Message) (call, result string) {
	var it struct {
		Call   string `json:"call_id"`
		Result string `json:"tool_call_id"`
	}
	if json.Unmarshal(m.Data, &it) != nil {
		return "", ""
	}
	return it.Call, it.Result
}

// toolMessage returns a call or a result, of few ids.
func (g *generator) toolMessage() []byte {
	id := fmt.Sprint("t", g.rnd.IntN(5))
	if g.rnd.IntN(2) == 0 {
		return fmt.Appendf(nil, `{"type":"function_call","call_id":%q}`, id)
	}
	return fmt.Appendf(nil, `{"role":"tool","tool_call_id":%q}`, id)
}

// retain returns an operation that sets how much a session keeps, or lifts that.
func (g *generator) retain(k turn.Key) turn.Op {
	o := &turn.Retain{Key: k, Expect: g.expect(k)}
	switch g.rnd.IntN(5) {
	case 0:
		o.All = true
	case 1, 2:
		o.Keep.Turns = 1 + g.rnd.Uint64N(6)
	default:
		o.Keep.Messages = 1 + g.rnd.Uint64N(20)
	}
	return o
}

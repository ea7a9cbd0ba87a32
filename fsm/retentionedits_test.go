package fsm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// editedSession is a session that keeps its length while clients edit its list. All payloads differ.
type editedSession struct {
	*rig
	rnd    *rand.Rand
	keeps  uint64
	made   int // payloads
	last   uint64
	seqs   map[string]uint64 // of what the session holds, by payload
	list   []string
	calls  []string          // that have no result yet
	answer map[string]string // a result → its call
}

func (s *editedSession) text() string {
	s.made++
	return fmt.Sprint("text", s.made)
}

// message returns a call, the result of one, or a text.
func (s *editedSession) message() string {
	switch s.rnd.IntN(4) {
	case 0:
		call := fmt.Sprintf(`{"type":"function_call","call_id":"%d"}`, s.made)
		s.made++
		s.calls = append(s.calls, call)
		return call
	case 1:
		if len(s.calls) == 0 {
			break
		}
		at := s.rnd.IntN(len(s.calls))
		call := s.calls[at]
		s.calls = slices.Delete(s.calls, at, at+1)
		if seq := s.seqs[call]; seq > 0 && s.last+1-seq <= turn.ToolReach {
			id, _ := toolsOf(turn.Message{Data: []byte(call)})
			result := fmt.Sprintf(`{"tool_call_id":%q}`, id)
			s.answer[result] = call
			return result
		}
	}
	return s.text()
}

// op returns an operation on a list that is not empty, and what it removes of it.
func (s *editedSession) op() (op turn.Op, removed []string) {
	n := len(s.list)
	at := s.rnd.IntN(n)
	one, end := s.list[at:at+1], turn.Side(s.rnd.IntN(2))
	switch s.rnd.IntN(24) {
	case 0, 1:
		return insertBeside(one[0], end == turn.Head, s.text()), nil
	case 2, 3:
		return moveWithin(end, turn.Side(s.rnd.IntN(2))), nil
	case 4:
		return removeElement(one[0]), one
	case 5:
		return &turn.SetElement{Key: sessionA, Index: int64(at), Data: []byte(s.text())}, one
	case 6:
		from, to := s.rnd.IntN(3), n-s.rnd.IntN(3)
		trim := &turn.Trim{Key: sessionA, By: turn.ListRange, Start: int64(from), Stop: int64(to - 1)}
		if from >= to {
			return trim, s.list
		}
		return trim, append(slices.Clone(s.list[:from]), s.list[to:]...)
	}
	side := turn.Tail
	if s.rnd.IntN(4) == 0 {
		side = turn.Head
	}
	return &turn.Append{Key: sessionA, Side: side, Messages: payload(s.message())}, nil
}

// look takes up what the session holds now, and returns how much that is.
func (s *editedSession) look() uint64 {
	got := s.query(&turn.List{Key: sessionA, Start: 0, Stop: -1})
	s.list, s.seqs, s.last = nil, make(map[string]uint64), s.query(&turn.Info{Key: sessionA}).Session.Last
	for _, m := range got.Messages {
		s.list = append(s.list, string(m.Data))
		s.seqs[string(m.Data)] = m.Seq
	}
	return uint64(len(s.list))
}

// step makes an operation, and reports a result that lost its call by it.
func (s *editedSession) step() {
	s.t.Helper()
	op, removed := turn.Op(&turn.Append{Key: sessionA, Messages: payload(s.text())}), []string(nil)
	if len(s.list) > 0 {
		op, removed = s.op()
	}
	before := s.seqs
	s.do(op)
	count := s.look()
	if count > s.keeps+turn.ToolReach {
		s.t.Fatalf("after %T: %d messages are kept", op, count)
	}
	forced := count == s.keeps+turn.ToolReach // calls had to be dropped
	for result, call := range s.answer {
		switch {
		case s.seqs[call] > 0:
			if (s.seqs[call] == before[call]) != (s.seqs[result] == before[result]) && before[result] > 0 {
				delete(s.answer, result) // one was moved without the other
			}
		case before[call] == 0 || forced || slices.Contains(removed, call):
			delete(s.answer, result)
		case s.seqs[result] > 0:
			s.t.Fatalf("after %T %+v: %s, message %d, has lost its call, which was message %d; the list is %s", op, op,
				result, s.seqs[result], before[call], s.list)
		}
	}
}

// Whatever clients do to its list, a session that keeps its length drops no call whose result it keeps, if none of the
// two was moved without the other.
func TestRetentionOfEditedLists(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			s := &editedSession{rig: newRig(t), rnd: rand.New(rand.NewPCG(seed, 12)), answer: make(map[string]string)}
			s.raise(turn.Level2)
			s.keeps = 1 + s.rnd.Uint64N(30)
			s.do(&turn.Retain{Key: sessionA, Keep: turn.Retention{Messages: s.keeps}})
			for range 400 {
				if s.step(); s.rnd.IntN(12) == 0 {
					s.flush()
				}
			}
		})
	}
}

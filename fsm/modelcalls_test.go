package fsm

import (
	"maps"
	"math"
	"slices"

	"github.com/turnlog/turnlog/turn"
)

// modelCall is a call that waits for its result; without an id, it is not known which ones up to seq do.
type modelCall struct {
	seq uint64
	id  string
}

// waits reports whether a call waits for its result when the message with a seq comes.
func (s *modelSession) waits(seq uint64) bool {
	first := uint64(math.MaxUint64)
	for _, msg := range s.list {
		first = min(first, msg.Seq)
	}
	return slices.ContainsFunc(s.open, func(c modelCall) bool { return c.seq >= first && seq-c.seq <= turn.ToolReach })
}

func (s *modelSession) setInside(seq uint64, inside bool) {
	if s.inside == nil {
		s.inside = make(map[uint64]bool)
	}
	s.inside[seq] = inside
}

func (s *modelSession) noteCalls(seq uint64, data []byte, level turn.ClusterLevel) {
	if level < turn.Level2 {
		return
	}
	call, result := toolsOf(turn.Message{Data: data})
	s.open = slices.DeleteFunc(slices.Clone(s.open), func(c modelCall) bool {
		return s.last+1-c.seq > turn.ToolReach ||
			c.id != "" && (c.id == result || c.id == call || c.seq == seq)
	})
	if call != "" && s.last+1-seq <= turn.ToolReach {
		s.open = append(s.open, modelCall{seq, call})
	}
}

func (s *modelSession) reopen() {
	s.open = slices.DeleteFunc(slices.Clone(s.open), func(c modelCall) bool { return c.id == "" })
	s.open = append(s.open, modelCall{seq: s.last})
}

// lostEnd is lost for messages that were removed from the ends of the list, all of which may be the oldest.
func (s *modelSession) lostEnd(before []turn.Message, newest bool) {
	first, highest := uint64(math.MaxUint64), uint64(0)
	for _, msg := range s.list {
		first = min(first, msg.Seq)
	}
	for _, msg := range before {
		if !slices.ContainsFunc(s.list, func(x turn.Message) bool { return x.Seq == msg.Seq }) {
			highest = max(highest, msg.Seq)
		}
	}
	s.lost(before, newest, highest < first)
}

// lost is told what the list was before messages were removed: the newest, the oldest, or any.
func (s *modelSession) lost(before []turn.Message, newest, oldest bool) {
	left := make(map[uint64]bool)
	for _, msg := range s.list {
		left[msg.Seq] = true
	}
	lowest, some := uint64(math.MaxUint64), false
	for _, msg := range before {
		if !left[msg.Seq] {
			lowest, some = min(lowest, msg.Seq), some || s.inside[msg.Seq]
		}
	}
	switch {
	case lowest == math.MaxUint64 || oldest && len(s.list) > 0:
	case len(s.list) == 0:
		s.open = nil
	case newest:
		s.open = slices.DeleteFunc(slices.Clone(s.open),
			func(c modelCall) bool { return c.id != "" && c.seq >= lowest })
		if s.inside[lowest] {
			s.reopen()
		}
	case some:
		s.reopen()
	}
}

// lift is told which messages are going to have other seqs: one after the other, behind that of a new one.
func (s *modelSession) lift(lifted []turn.Message, fromTail bool) {
	open, ordered, last := len(s.open) > 0, true, uint64(0)
	some, rest := open, slices.Clone(s.list)
	for _, msg := range lifted {
		ordered, last = ordered && msg.Seq > last, msg.Seq
		some = some || s.inside[msg.Seq]
		rest = slices.DeleteFunc(rest, func(x turn.Message) bool { return x.Seq == msg.Seq })
	}
	ordered = ordered && !slices.ContainsFunc(rest, func(x turn.Message) bool {
		return len(lifted) > 0 && x.Seq > lifted[0].Seq
	})
	for i, msg := range lifted {
		if s.inside[msg.Seq] && len(s.open) == 0 {
			s.reopen()
		}
		s.setInside(s.last+2+uint64(i), !ordered && some || s.inside[msg.Seq])
	}
	switch {
	case len(lifted) == 0:
		s.setInside(s.last+1, open)
	case ordered:
		s.setInside(s.last+1, s.inside[lifted[0].Seq])
	default:
		s.setInside(s.last+1, some)
	}
	if fromTail {
		s.liftTurns(lifted)
	}
}

func (s *modelSession) liftTurns(lifted []turn.Message) {
	at := len(lifted) - 1
	for at > 0 && lifted[at-1].Seq < lifted[at].Seq {
		at--
	}
	if at < 0 {
		return
	}
	var starts []uint64
	from := lifted[at].Seq
	for _, start := range s.turns {
		now := start
		if start >= from {
			i := slices.IndexFunc(lifted[at:], func(x turn.Message) bool { return x.Seq >= start })
			if i < 0 {
				continue
			}
			now = s.last + 2 + uint64(at+i)
		}
		if !slices.Contains(starts, now) {
			starts = append(starts, now)
		}
	}
	s.turns = starts
}

// forkCalls gives a fork the calls that wait in it.
func (s *modelSession) forkCalls(of *modelSession) {
	s.inside = maps.Clone(of.inside)
	if len(s.list) == 0 {
		return
	}
	all := of.bySeq()
	i := slices.IndexFunc(all, func(x turn.Message) bool { return x.Seq > s.last })
	reopens := i >= 0 && of.inside[all[i].Seq]
	for _, c := range of.open {
		if c.seq <= s.last {
			s.open = append(s.open, c)
		} else {
			reopens = reopens || c.id == ""
		}
	}
	if reopens {
		s.reopen()
	}
}

package workload

import "github.com/turnlog/turnlog/internal/lincheck/history"

// selected makes appends with tool calls and results, and reads of messages by time, of as many as keep them
// together, or both.
func selected(w *worker, s *Session) history.Call {
	if w.rand.IntN(2) == 0 {
		c := w.append(1+w.rand.IntN(4), true)
		s.useTools(c.Values, w.rand.IntN(3) > 0)
		return c
	}
	c := history.Call{Func: history.Read, Timed: true, Whole: w.rand.IntN(2) == 0, N: w.rand.Uint64N(8),
		Latest: w.rand.IntN(2) == 0}
	if !c.Latest {
		last := s.Last()
		c.Seq = last - min(last, w.rand.Uint64N(12))
	}
	since, until := s.someTime(w.rand.IntN(keptTimes)), s.someTime(w.rand.IntN(keptTimes))
	kind := w.rand.IntN(4)
	if kind&1 != 0 {
		c.Since = min(since, until)
	}
	if kind&2 != 0 {
		c.Until = max(since, until) + w.rand.Int64N(2)
	}
	return c
}

// keptTimes is how many times of messages a session remembers, to be asked for.
const keptTimes = 16

// useTools makes the last message of an append a tool call, or the first one the result of the call that was made
// last, which may be another worker's, or never come to be.
func (s *Session) useTools(tokens []string, use bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !use:
	case s.call != "":
		tokens[0], s.call = s.call+history.ToolResult, ""
	default:
		s.call = tokens[len(tokens)-1]
		tokens[len(tokens)-1] += history.ToolCall
	}
}

// someTime returns one of the times that it remembers, 0 if it has none there.
func (s *Session) someTime(i int) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.times[i]
}

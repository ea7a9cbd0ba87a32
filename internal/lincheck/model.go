package lincheck

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// state is the obvious session: a list of messages. It is the specification
// that search holds histories against. States are immutable.
type state struct {
	exists   bool
	last     uint64 // highest seq given in this incarnation
	messages []history.Message
	known    map[string]uint64 // id → seq that it was given, removed messages included
	// revision is the session's, if exact; otherwise the session's is higher:
	// a change happened whose revision no client was told.
	revision uint64
	exact    bool
	key      string // of everything above: equal states have equal keys
}

const notFound = "NOT_FOUND"

func newState() *state { return (&state{exact: true}).sealed() }

func (s *state) sealed() *state {
	var b strings.Builder
	fmt.Fprintf(&b, "%t %d %d %t", s.exists, s.last, s.revision, s.exact)
	for _, m := range s.messages {
		fmt.Fprintf(&b, " %d=%s", m.Seq, m.Value)
	}
	b.WriteString(" |")
	for _, id := range slices.Sorted(maps.Keys(s.known)) {
		fmt.Fprintf(&b, " %d=%s", s.known[id], id)
	}
	s.key = b.String()
	return s
}

// reply is what an operation must answer. Revisions are told apart: they depend
// on what happens in other sessions.
type reply struct {
	history.Result
	code    string // of the error, if it is one
	changed bool
}

// apply carries out c.
func (s *state) apply(c *history.Call) (*state, reply) {
	switch c.Func {
	case history.Append:
		return s.append(c)
	case history.Read:
		return s, s.read(c)
	case history.Pop:
		if c.Oldest {
			n := min(int(c.N), len(s.messages))
			next, r := s.keep(s.messages[n:])
			r.Messages, r.Removed = s.messages[:n], 0
			return next, r
		}
		keep := len(s.messages) - min(int(c.N), len(s.messages))
		popped := slices.Clone(s.messages[keep:])
		slices.Reverse(popped)
		next, r := s.keep(s.messages[:keep])
		r.Messages, r.Removed = popped, 0 // a pop shows what it removed and does not count it
		return next, r
	case history.Trim:
		gone := len(s.messages) - min(int(c.N), len(s.messages))
		return s.keep(s.messages[gone:])
	case history.Clear:
		return s.keep(nil)
	case history.Replace:
		return s.replace(c)
	case history.Delete:
		if !s.exists {
			return s, reply{}
		}
		next := &state{known: s.known, revision: s.revision, exact: s.exact}
		return next, reply{Result: history.Result{Removed: 1}, changed: true}
	}
	panic("no such operation: " + string(c.Func))
}

// keep removes all messages but those given.
func (s *state) keep(messages []history.Message) (*state, reply) {
	removed := len(s.messages) - len(messages)
	r := reply{Result: history.Result{Removed: uint64(removed), Count: uint64(len(messages))}, changed: removed > 0}
	if removed == 0 {
		return s, r
	}
	next := *s
	next.messages = messages
	return &next, r
}

func (s *state) append(c *history.Call) (*state, reply) {
	if first, ok := s.duplicate(c); ok {
		return s, reply{Result: history.Result{First: first, Last: first + uint64(len(c.Values)) - 1, Duplicate: true}}
	}
	if !s.expected(c.Expect) || s.knowsAny(c) {
		return s, reply{code: history.Conflict}
	}
	next := *s
	next.exists = true
	next.messages = slices.Clone(s.messages)
	if c.IDs {
		next.known = maps.Clone(s.known)
		if next.known == nil {
			next.known = map[string]uint64{}
		}
	}
	for _, v := range c.Values {
		next.last++
		next.messages = append(next.messages, history.Message{Seq: next.last, Value: v})
		if c.IDs {
			next.known[v] = next.last
		}
	}
	return &next, reply{changed: true,
		Result: history.Result{First: s.last + 1, Last: next.last, Count: uint64(len(next.messages))}}
}

// duplicate reports whether the messages of c are there already, or were, as
// one turn, and from which seq on.
func (s *state) duplicate(c *history.Call) (first uint64, ok bool) {
	first = s.known[c.Values[0]]
	for i, v := range c.Values {
		if !c.IDs || s.known[v] == 0 || s.known[v] != first+uint64(i) {
			return 0, false
		}
	}
	return first, true
}

func (s *state) knowsAny(c *history.Call) bool {
	return c.IDs && slices.ContainsFunc(c.Values, func(v string) bool { return s.known[v] != 0 })
}

// expected reports whether a condition holds, or may hold.
func (s *state) expected(expect *uint64) bool {
	switch {
	case expect == nil:
		return true
	case !s.exists || *expect == 0:
		return !s.exists && *expect == 0
	case s.exact:
		return *expect == s.revision
	}
	return *expect > s.revision
}

func (s *state) replace(c *history.Call) (*state, reply) {
	if !s.exists {
		return s, reply{code: notFound}
	}
	cut := *s
	cut.messages = nil
	for _, m := range s.messages {
		if m.Seq < c.Seq {
			cut.messages = append(cut.messages, m)
		}
	}
	removed := uint64(len(s.messages) - len(cut.messages))
	next, r := cut.append(c)
	if r.Duplicate || r.code != "" {
		return s, r
	}
	r.Removed = removed
	return next, r
}

func (s *state) read(c *history.Call) reply {
	messages := s.messages
	if !c.Latest {
		for len(messages) > 0 && messages[0].Seq <= c.Seq {
			messages = messages[1:]
		}
	}
	if c.N != 0 && int(c.N) < len(messages) {
		if c.Latest {
			messages = messages[len(messages)-int(c.N):]
		} else {
			messages = messages[:c.N]
		}
	}
	return reply{Result: history.Result{Last: s.last, Count: uint64(len(s.messages)), Messages: messages}}
}

package value

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// MovedKeys are the keys of a Moved, in the order of its Snapshot.
var MovedKeys = []string{"@0", "@1", "@2"}

// Moved is three sessions among which transactions move messages. Each transaction is known by its id. The state does
// not change.
type Moved struct {
	places map[string]place  // by key
	known  map[string]string // answers to the steps of transactions, by id
}

// place is a session: what it holds, and its revision once that was told.
type place struct {
	history.Place
	told bool
}

// String is the same for equal Moved only.
func (m Moved) String() string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(m.places)) {
		p := m.places[key]
		fmt.Fprint(&b, key, " ", p.told, p.Revision, " ", p.Last, placed(p.Messages), "; ")
	}
	for _, id := range slices.Sorted(maps.Keys(m.known)) {
		fmt.Fprint(&b, id, "=", m.known[id], "; ")
	}
	return b.String()
}

// Do implements State.
func (m Moved) Do(command []string) (State, string) {
	if command[0] == Snapshot {
		var now []history.Place
		for _, key := range MovedKeys {
			now = append(now, m.places[key].Place)
		}
		return m, Shown(now)
	}
	t := ParseTransaction(command)
	if steps, known := m.known[t.ID]; known {
		return m, fields("duplicate", "1", "steps", steps)
	}
	for _, c := range t.Conditions {
		if !m.holds(c) {
			return m, failed(history.Conflict)
		}
	}
	next := Moved{maps.Clone(m.places), map[string]string{}}
	if next.places == nil {
		next.places = map[string]place{}
	}
	var results []string
	for i := range t.Steps {
		r, refused := next.step(&t.Steps[i])
		if refused != "" {
			return m, failed(refused)
		}
		results = append(results, stepAnswer(t.Steps[i].Name, &r))
	}
	maps.Copy(next.known, m.known)
	next.known[t.ID] = array(results)
	return next, fields("duplicate", "0", "steps", array(results))
}

// holds reports whether a condition holds. The revision of a session that has changed since it was told is above all
// that were told before, so that it is none which a client can ask for.
func (m Moved) holds(c Condition) bool {
	p, exists := m.places[c.Key]
	switch c.Is {
	case "REVISION":
		return exists && p.told && p.Revision == c.N || !exists && c.N == 0
	case "SEQ":
		return p.Last == c.N
	case "EXISTS":
		return exists
	}
	return !exists
}

// Learn takes in the revisions of a Snapshot, and reports whether the state can have them.
func (m Moved) Learn(now []history.Place) (State, bool) {
	next := Moved{maps.Clone(m.places), m.known}
	for i, key := range MovedKeys {
		p, exists := m.places[key]
		switch {
		case exists != (now[i].Revision != 0), exists && p.told && p.Revision != now[i].Revision:
			return m, false
		case exists:
			p.told, p.Revision = true, now[i].Revision
			next.places[key] = p
		}
	}
	return next, true
}

// step carries out a step in place, or returns the code that it is refused with.
func (m Moved) step(s *Step) (r history.Result, refused string) {
	p, exists := m.places[s.Key]
	held := slices.Clone(p.Messages)
	before := len(held)
	switch s.Name {
	case "TURN.RENAME":
		return m.rename(s, p, exists)
	case "TURN.DELETE":
		if delete(m.places, s.Key); exists {
			r.Removed = 1
		}
		return r, ""
	case "TURN.POP":
		r.Messages, held = pop(held, int(s.Number(0)), s.Args[1])
	case "TURN.EDIT": // seq text
		at := indexOf(held, s.Number(0))
		if at < 0 {
			return r, "NOT_FOUND"
		}
		held[at].Value = s.Args[1]
	case "TURN.REMOVE": // seq
		if at := indexOf(held, s.Number(0)); at >= 0 {
			held = slices.Delete(held, at, at+1)
		}
	case "TURN.REPLACE": // from text …
		if !exists {
			return r, "NOT_FOUND"
		}
		from := s.Number(0)
		held = slices.DeleteFunc(held, func(m history.Message) bool { return m.Seq >= from })
	case "TURN.RETAIN": // n, or 0 for all
		if n := int(s.Number(0)); n > 0 {
			held = held[max(0, before-n):]
		}
	}
	r.Removed = uint64(before - len(held))
	if texts := s.Texts(); s.Name != "TURN.EDIT" && len(texts) > 0 {
		r.First = p.Last + 1
		for _, text := range texts {
			p.Last++
			held = append(held, history.Message{Seq: p.Last, Value: text})
		}
		r.Last = p.Last
	}
	p.Messages, p.told, p.Revision, r.Count = held, false, 0, uint64(len(held))
	m.places[s.Key] = p
	return r, ""
}

// pop takes n messages out at an end, HEAD or NEWEST.
func pop(held []history.Message, n int, end string) (popped, left []history.Message) {
	n = min(n, len(held))
	if end == "HEAD" {
		return held[:n], held[n:]
	}
	at := len(held) - n
	popped = slices.Clone(held[at:])
	slices.Reverse(popped)
	return popped, held[:at]
}

func indexOf(ms []history.Message, seq uint64) int {
	return slices.IndexFunc(ms, func(m history.Message) bool { return m.Seq == seq })
}

// rename is TURN.RENAME key to [REPLACE].
func (m Moved) rename(s *Step, p place, exists bool) (r history.Result, refused string) {
	if !exists {
		return r, "NOT_FOUND"
	}
	if _, there := m.places[s.Args[0]]; there && len(s.Args) == 1 {
		return r, "EXISTS"
	}
	delete(m.places, s.Key)
	p.told, p.Revision, r.Count = false, 0, uint64(len(p.Messages))
	m.places[s.Args[0]] = p
	return r, ""
}

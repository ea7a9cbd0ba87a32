package contract

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// errUndecided says that the checker ran out of time. It is not a pass.
var errUndecided = errors.New("undecided")

// position is the state of a session in the model: how many turns it has, and a
// hash of which and in which order. One load that shows a session whole thereby
// says everything about what came before it.
type position struct {
	turns int
	hash  uint64
}

func (p position) then(k turnKey) position {
	h := fnv.New64a()
	fmt.Fprintf(h, "%x %d %d", p.hash, k.Writer, k.Turn)
	return position{p.turns + 1, h.Sum64()}
}

func positionOf(turns []turnKey) position {
	var p position
	for _, k := range turns {
		p = p.then(k)
	}
	return p
}

// step is an event with what the model compares precomputed.
type step struct {
	event
	seen position
}

// next returns the states that can follow from p by e, none if e cannot have
// happened there.
func (s *step) next(p position) []any {
	switch s.Op {
	case opAdd, opAddIf:
		holds := s.Op == opAdd || p == s.seen
		switch {
		case s.Outcome == saved && holds:
			return []any{p.then(s.Key)}
		case s.Outcome == unknown && holds:
			return []any{p, p.then(s.Key)}
		case s.Outcome == unknown, s.Outcome == refused && (s.Op == opAdd || !holds):
			return []any{p}
		}
	case opLoad:
		if p == s.seen {
			return []any{p}
		}
	}
	return nil
}

var sessionModel = (&porcupine.NondeterministicModel{
	Init:  func() []any { return []any{position{}} },
	Step:  func(state, input, _ any) []any { return input.(*step).next(state.(position)) },
	Equal: func(a, b any) bool { return a == b },
}).ToModel()

// checkLinearizable looks for an order of the calls on one session that explains
// every answer, and that no clock contradicts.
func checkLinearizable(events []event, limit time.Duration) error {
	if text := staleLoad(events); text != "" {
		return errors.New(text)
	}
	var ops []porcupine.Operation
	for _, e := range events {
		if e.Op == opLoad && e.Outcome != saved {
			continue // it tells nothing
		}
		end := e.End
		if e.Outcome == unknown {
			end = math.MaxInt64 // it may take place at any time from its start on
		}
		ops = append(ops, porcupine.Operation{ClientId: e.Key.Writer, Input: &step{e, positionOf(e.Seen)}, Call: e.Start, Return: end})
	}
	verdict, info := porcupine.CheckOperationsVerbose(sessionModel, ops, limit)
	switch verdict {
	case porcupine.Ok:
		return nil
	case porcupine.Unknown:
		return fmt.Errorf("%w: no verdict on %d calls within %s", errUndecided, len(ops), limit)
	}
	return fmt.Errorf("no order of the %d calls explains their answers\n%s", len(ops), unexplained(events, info))
}

// unexplained shows the first call that has no place in the longest order found.
func unexplained(events []event, info porcupine.LinearizationInfo) string {
	var longest []porcupine.Operation
	for _, orders := range info.PartialLinearizationsOperations() {
		for _, o := range orders {
			if len(o) > len(longest) {
				longest = o
			}
		}
	}
	placed := map[int64]bool{}
	for _, o := range longest {
		placed[o.Call] = true
	}
	return around(events, func(e *event) bool { return !placed[e.Start] && e.Outcome != unknown })
}

// staleLoad says in words what is the most common violation: a load that does not
// show what was acknowledged before it began. Empty: there is none.
func staleLoad(events []event) string {
	for _, l := range events {
		if l.Op != opLoad || l.Outcome != saved {
			continue
		}
		shown := map[turnKey]bool{}
		for _, k := range l.Seen {
			shown[k] = true
		}
		for _, a := range events {
			if (a.Op == opAdd || a.Op == opAddIf) && a.Outcome == saved && a.End < l.Start && !shown[a.Key] {
				var b strings.Builder
				fmt.Fprintf(&b, "stale: a load by writer %d began %.3f ms after %s was acknowledged, and does not show it\n",
					l.Key.Writer, float64(l.Start-a.End)/1e6, a.Key)
				b.WriteString(around(events, func(e *event) bool { return e.Start == l.Start && e.Op == opLoad }))
				return b.String()
			}
		}
	}
	return ""
}

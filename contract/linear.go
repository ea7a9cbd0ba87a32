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
// hash of which and in which order.
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
	seen  position
	place int // of the turn added, in the end
}

// apply says whether e can have happened in p, and what follows. Since sessions in
// these histories only grow, the place of a turn in the end is the number of turns
// before it, which spares the search most of its choices, and settles for turns of
// unknown outcome whether they were saved.
func (s *step) apply(p position) (bool, position) {
	if s.Op == opLoad {
		return p == s.seen, p
	}
	holds := s.Op == opAdd || p == s.seen
	if s.Outcome == refused {
		return s.Op == opAdd || !holds, p
	}
	return holds && p.turns == s.place, p.then(s.Key)
}

var sessionModel = porcupine.Model{
	Init: func() any { return position{} },
	Step: func(state, input, _ any) (bool, any) { return input.(*step).apply(state.(position)) },
}

// checkLinearizable looks for an order of the calls on one session that explains
// every answer, and that no clock contradicts. The last load was made when all
// else had ended.
func checkLinearizable(events []event, limit time.Duration) error {
	if text := staleLoad(events); text != "" {
		return errors.New(text)
	}
	place := map[turnKey]int{}
	for i, k := range events[len(events)-1].Seen {
		place[k] = i
	}
	var ops []porcupine.Operation
	for _, e := range attempts(events) {
		s := &step{event: e, seen: positionOf(e.Seen)}
		there := false
		s.place, there = place[e.Key]
		if e.Outcome == unknown && (e.Op == opLoad || !there) {
			continue // a load tells nothing, and a turn that is not there never was
		}
		end := e.End
		if e.Outcome == unknown {
			end = math.MaxInt64 // it was saved at any time from its start on
		}
		ops = append(ops, porcupine.Operation{ClientId: e.Key.Writer, Input: s, Call: e.Start, Return: end})
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

// attempts makes one call of an unconditional add and its retries under the same
// ids, which lasts from the first attempt to the first acknowledgement.
func attempts(events []event) []event {
	var out []event
	first := map[turnKey]int{}
	for _, e := range events {
		i, again := first[e.Key]
		if e.Op != opAdd || !again {
			if e.Op == opAdd {
				first[e.Key] = len(out)
			}
			out = append(out, e)
			continue
		}
		if out[i].Outcome != saved && e.Outcome != refused {
			out[i].Outcome, out[i].End = e.Outcome, e.End
		}
	}
	return out
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
				fmt.Fprintf(&b, "stale: a load by writer %d began %.3f ms after %s was acknowledged, and does not "+
					"show it\n",
					l.Key.Writer, float64(l.Start-a.End)/1e6, a.Key)
				b.WriteString(around(events, func(e *event) bool { return e.Start == l.Start && e.Op == opLoad }))
				return b.String()
			}
		}
	}
	return ""
}

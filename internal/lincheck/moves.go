package lincheck

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/turnlog/turnlog/internal/lincheck/history"
	"github.com/turnlog/turnlog/internal/lincheck/value"
)

// Sessions among which transactions move items (value.Moved). An item is a message that is put into one of them once,
// and then moved and rewritten: its payload is its name, and behind a # how often it was rewritten. The search finds
// whatever is wrong. These rules say before it which item is lost, doubled, or was rewritten in vain.

// item is what is known of an item.
type item struct {
	named   []*history.Operation // transactions that name it, as they were begun
	settled []sighting           // as answers came
}

// sighting is that an operation, once it was answered, left or found an item at a version.
type sighting struct {
	op      *history.Operation
	version int
}

// itemOf splits the payload of an item.
func itemOf(payload string) (name string, version int) {
	name, n, _ := strings.Cut(payload, "#")
	version, _ = strconv.Atoi(n)
	return name, version
}

// checkMoves holds every snapshot against the transactions and the snapshots that were answered before it began.
func (s *session) checkMoves() {
	items := s.items()
	for _, op := range s.ops {
		if len(op.Result.Places) > 0 {
			s.checkSnapshot(op, items)
		}
	}
}

// items returns what is known of each item, by its name.
func (s *session) items() map[string]*item {
	items := map[string]*item{}
	of := func(name string) *item {
		if items[name] == nil {
			items[name] = &item{}
		}
		return items[name]
	}
	for _, op := range s.ops {
		if len(op.Call.Command) == 0 || op.Call.Command[0] != value.Tx {
			continue
		}
		t := value.ParseTransaction(op.Call.Command)
		for i := range t.Steps {
			for _, payload := range t.Steps[i].Texts() {
				name, version := itemOf(payload)
				x := of(name)
				x.named = append(x.named, op)
				if op.Outcome == history.OK {
					x.settled = append(x.settled, sighting{op, version})
				}
			}
		}
	}
	for _, op := range s.ops {
		for _, p := range op.Result.Places {
			for _, m := range p.Messages {
				name, version := itemOf(m.Value)
				of(name).settled = append(of(name).settled, sighting{op, version})
			}
		}
	}
	return items
}

// found is where a snapshot shows an item, and its version there.
type found struct {
	where   string
	version int
}

// checkSnapshot looks for each item in one snapshot.
func (s *session) checkSnapshot(op *history.Operation, items map[string]*item) {
	seen := map[string][]found{}
	for i, p := range op.Result.Places {
		for _, m := range p.Messages {
			name, version := itemOf(m.Value)
			seen[name] = append(seen[name], found{fmt.Sprintf("%s at seq %d", value.MovedKeys[i], m.Seq), version})
		}
	}
	for name, at := range seen {
		x := items[name]
		switch {
		case len(at) > 1:
			s.violation("doubled item", fmt.Sprintf("%s is in %s and in %s", name, at[0].where, at[1].where), op)
		case len(x.named) == 0:
			s.violation("foreign item", fmt.Sprintf("%s is in %s, and no transaction put it there", name, at[0].where),
				op)
		case refusedAll(x.named):
			s.violation("refused item", fmt.Sprintf("%s is in %s, though the transaction that brought it was refused",
				name, at[0].where), append(x.named, op)...)
		}
	}
	for name, x := range items {
		s.checkSettled(op, name, x, seen[name])
	}
}

// checkSettled looks that a snapshot shows an item as it was left before.
func (s *session) checkSettled(op *history.Operation, name string, x *item, at []found) {
	for _, before := range x.settled {
		switch {
		case before.op.Return >= op.Invoke:
		case len(at) == 0:
			s.violation("lost item", fmt.Sprintf("%s is in none of the sessions, and was there after operation %d",
				name, before.op.ID), before.op, op)
			return
		case at[0].version < before.version:
			s.violation("lost edit", fmt.Sprintf("%s is at version %d in %s, and was at %d after operation %d",
				name, at[0].version, at[0].where, before.version, before.op.ID), before.op, op)
			return
		}
	}
}

func refusedAll(ops []*history.Operation) bool {
	for _, op := range ops {
		if op.Outcome != history.Fail {
			return false
		}
	}
	return true
}

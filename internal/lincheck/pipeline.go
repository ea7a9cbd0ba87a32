package lincheck

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// checkPipelines requires that the calls of a pipeline that took place did so in the
// order in which they were sent: the clock does not tell, since all of them overlap.
// Reads between which there is no write are side by side, and have no order.
func (l *log) checkPipelines(spans []span) {
	byPosition := slices.DeleteFunc(slices.Clone(spans), func(s span) bool { return s.op.Call.Pipeline == 0 })
	slices.SortFunc(byPosition, func(a, b span) int { return comparePositions(a.op, b.op) })
	var write, read *span // of this pipeline so far, those with the highest places
	for i := range byPosition {
		s := &byPosition[i]
		if i == 0 || byPosition[i-1].op.Call.Pipeline != s.op.Call.Pipeline {
			write, read = nil, nil
		}
		l.checkBehind(write, s)
		if !s.op.Call.Func.Writes() {
			read = later(read, s)
			continue
		}
		l.checkBehind(read, s)
		write = later(write, s)
	}
}

// checkBehind requires that s, which was sent after before, does not come before it.
func (l *log) checkBehind(before, s *span) {
	if before != nil && s.high < before.low {
		l.violation("pipelined calls changed order",
			fmt.Sprintf("%s was sent before %s, and comes after it in the session's order",
				describe(before.op), describe(s.op)), before.op, s.op)
	}
}

func later(a, b *span) *span {
	if a == nil || b.low > a.low {
		return b
	}
	return a
}

func comparePositions(a, b *history.Operation) int {
	return cmp.Or(cmp.Compare(a.Call.Pipeline, b.Call.Pipeline), cmp.Compare(a.Call.Position, b.Call.Position))
}

// checkPipelineRevisions is checkPipelines over all sessions of a namespace, as far as
// answers tell revisions: a later write has a higher one.
func checkPipelineRevisions(ops []history.Operation) (found []Violation) {
	var told []*history.Operation
	for i := range ops {
		op := &ops[i]
		if op.Call.Pipeline != 0 && op.Call.Func.Writes() && op.Outcome == history.OK && op.Result.Revision != 0 &&
			!op.Result.Duplicate {
			told = append(told, op)
		}
	}
	slices.SortFunc(told, func(a, b *history.Operation) int {
		return cmp.Or(strings.Compare(namespace(a), namespace(b)), comparePositions(a, b))
	})
	for i, op := range told {
		if i == 0 || told[i-1].Call.Pipeline != op.Call.Pipeline || namespace(told[i-1]) != namespace(op) {
			continue
		}
		if before := told[i-1]; op.Result.Revision <= before.Result.Revision {
			found = append(found, Violation{Session: op.Session, Rule: "pipelined calls changed order",
				Ops: []int64{before.ID, op.ID},
				Text: fmt.Sprintf("%s was sent before %s, and has revision %d, that one %d", describe(before),
					describe(op),
					before.Result.Revision, op.Result.Revision)})
		}
	}
	return found
}

func namespace(op *history.Operation) string {
	name, _, _ := strings.Cut(op.Session, "/")
	return name
}

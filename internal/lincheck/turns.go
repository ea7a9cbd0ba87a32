package lincheck

import (
	"fmt"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// checkTurns holds the appends against the final order: all of a turn or
// nothing, contiguous; acknowledged exactly once; refused never.
func (l *log) checkTurns() {
	for _, t := range l.turns {
		if !l.locate(t) {
			continue
		}
		if t.first != 0 {
			l.turnEnds[t.last()] = t
		}
		l.checkOutcomes(t)
	}
}

// locate finds t in the final order and reports whether it is whole.
func (l *log) locate(t *turn) bool {
	present := 0
	for _, v := range t.values {
		if l.seqs[v] != 0 {
			present++
		}
	}
	if present == 0 {
		return true
	}
	if present < len(t.values) {
		l.violation("torn turn", fmt.Sprintf("%d of %d messages of one append are there", present, len(t.values)),
			t.attempts...)
		return false
	}
	first := l.seqs[t.values[0]]
	for i, v := range t.values {
		if l.seqs[v] != first+uint64(i) {
			l.violation("torn turn",
				fmt.Sprintf("message %d of one append is at seq %d, the first at %d", i+1, l.seqs[v], first),
				t.attempts...)
			return false
		}
	}
	t.first = first
	return true
}

func (l *log) checkOutcomes(t *turn) {
	if t.first != 0 {
		l.checkCounts(t)
	}
	var original *history.Operation
	perhaps := false // an attempt without an answer could have done it
	for _, op := range t.attempts {
		switch {
		case op.Unsettled():
			perhaps = true
		case op.Outcome == history.Fail:
			l.checkRefusal(t, op)
		case op.Result.Duplicate:
			l.checkDuplicate(t, op)
		case original != nil:
			l.violation("doubled", "two attempts under the same ids were both answered as the first", original, op)
		default:
			original = op
		}
	}
	if t.first != 0 && original == nil && !perhaps {
		l.violation("refused but there",
			fmt.Sprintf("every attempt was refused, yet %q is at seq %d", t.values[0], t.first), t.attempts...)
	}
}

// checkCounts requires that an answer which tells how many messages the session
// holds tells the truth: none was ever removed.
func (l *log) checkCounts(t *turn) {
	for _, op := range t.attempts {
		if c := op.Result.Count; op.Outcome == history.OK && !op.Result.Duplicate && c != 0 && c != op.Result.Last {
			l.violation("count", fmt.Sprintf("an append that ends at seq %d leaves %d messages", op.Result.Last, c), op)
		}
	}
}

// checkDuplicate requires that an attempt answered as a duplicate had a
// forerunner that may have done the work.
func (l *log) checkDuplicate(t *turn, op *history.Operation) {
	for _, other := range t.attempts {
		first := other.Unsettled() || other.Outcome == history.OK && !other.Result.Duplicate
		if other != op && other.Invoke < op.Return && first {
			return
		}
	}
	l.violation("false duplicate", "answered as a duplicate, but no other attempt can have been the first", op)
}

// checkRefusal looks at the two refusals that make a statement about the log.
func (l *log) checkRefusal(t *turn, op *history.Operation) {
	switch {
	case op.Error == nil:
	case op.Error.Code == "ID_REUSED":
		l.violation("false refusal", "ids were never used with another payload", op)
	case op.Error.Code == history.Conflict && op.Call.Watch: // tells no revision
	case op.Error.Code == history.Conflict && op.Call.Expect == nil:
		l.violation("false refusal", "a conflict for an append without a condition", op)
	case op.Error.Code == history.Conflict && *op.Call.Expect == op.Error.Revision:
		l.violation("false refusal",
			fmt.Sprintf("conflict, although the revision was %d as expected", op.Error.Revision), op)
	}
}

package lincheck

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// A span is where in the final order of a session an operation took effect.
// The append that ends at seq s is at place 2s, a read that saw the session
// end at s at 2s+1. Where the place is not known exactly, low < high.
type span struct {
	op        *history.Operation
	low, high int64
	// Between these times it took effect; a read that may be old, perhaps before.
	invoke, finish int64
}

// nowhere is the high of an operation that shows what had happened before it,
// but not what had not.
const nowhere = math.MaxInt64

// checkRealTime requires that the final order agrees with the clock: if X is
// surely before Y in it, then Y had not ended before X began. For a session
// that is only appended to, this and the rules on content are linearizability.
// It also agrees with the order in which calls were sent, where that is known.
func (l *log) checkRealTime() {
	var spans []span
	for _, t := range l.turns {
		spans = append(spans, l.turnSpans(t)...)
	}
	revs := l.revisionTable()
	for _, op := range l.ops {
		if s, ok := l.observation(op, revs); ok {
			spans = append(spans, s)
		}
	}
	l.checkPipelines(spans)
	byLow := slices.Clone(spans)
	slices.SortFunc(byLow, func(a, b span) int { return cmp.Compare(a.low, b.low) })
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.high, b.high) })
	var latest *span // of those before the current place, the one that began last
	i := 0
	for k := range byLow {
		y := &byLow[k]
		for ; i < len(spans) && spans[i].high < y.low; i++ {
			if latest == nil || spans[i].invoke > latest.invoke {
				latest = &spans[i]
			}
		}
		if latest != nil && y.finish < latest.invoke {
			l.violation("real time",
				fmt.Sprintf("%s ended %.3f ms before %s began, but comes after it in the session's order",
					describe(y.op), float64(latest.invoke-y.finish)/1e6, describe(latest.op)), latest.op, y.op)
			return
		}
	}
}

// turnSpans tells when t was appended, and what its duplicates saw.
func (l *log) turnSpans(t *turn) []span {
	if t.first == 0 {
		return nil
	}
	place := 2 * int64(t.last())
	var spans []span
	effect := span{low: place, high: place, invoke: math.MaxInt64, finish: history.Forever}
	for _, op := range t.attempts {
		if op.Outcome == history.OK && op.Result.Duplicate {
			spans = append(spans, span{op: op, low: place + 1, high: nowhere, invoke: op.Invoke, finish: op.Return})
		} else if op.Outcome == history.OK {
			effect.op, effect.invoke, effect.finish = op, op.Invoke, op.Return
		}
		if op.Unsettled() && effect.finish == history.Forever && op.Invoke < effect.invoke {
			effect.op, effect.invoke = op, op.Invoke
		}
	}
	if effect.op == nil {
		return spans // every attempt was refused: reported elsewhere
	}
	return append(spans, effect)
}

// observation tells what an operation that changed nothing saw.
func (l *log) observation(op *history.Operation, revs revisionTable) (span, bool) {
	s := span{op: op, invoke: op.Invoke, finish: op.Return}
	switch {
	case op.Outcome == history.OK && op.Call.Func == history.Read:
		s.low = 2*int64(op.Result.Last) + 1
		s.high = s.low
		switch {
		case op.Call.MaxAge > 0: // what happened since then it may have missed
			s.invoke -= op.Call.MaxAge * int64(time.Millisecond)
		case op.Call.Stale:
			s.high = nowhere
		}
		return s, true
	case op.Outcome == history.OK && op.Call.Func == history.Tail && len(op.Result.Messages) > 0:
		s.low = 2*int64(op.Result.Messages[len(op.Result.Messages)-1].Seq) + 1
		s.high = nowhere
		return s, true
	case isConflict(op):
		low, high := revs.between(op.Error.Revision, l.last)
		if low > high {
			l.violation("revision", fmt.Sprintf("a conflict tells revision %d, which the session never had",
				op.Error.Revision), op)
			return s, false
		}
		s.low, s.high = 2*int64(low)+1, 2*int64(high)+1
		return s, true
	}
	return s, false
}

package lincheck

import (
	"fmt"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// log judges a session that was only appended to and read. Values are unique
// and answers tell positions, so the final order need not be searched for: it
// is read off the history, and every operation is held against it.
type log struct {
	*session
	turns []*turn
	owner map[string]*turn // value → turn that appends it

	values map[uint64]string             // seq → value seen there
	seqs   map[string]uint64             // value → seq where it was seen
	seenBy map[uint64]*history.Operation // seq → first operation that saw it
	times  map[uint64]int64              // seq → time, as far as answers tell it

	last      uint64                        // of the final reads
	turnEnds  map[uint64]*turn              // last seq of a turn → turn
	revisions map[uint64]uint64             // last seq → the session's revision then
	revSeenBy map[uint64]*history.Operation // last seq → operation that told it
}

func (s *session) checkLog(presentRevisions bool) {
	own := *s // with operations of its own
	l := &log{session: &own,
		owner: map[string]*turn{}, values: map[uint64]string{}, seqs: map[string]uint64{},
		seenBy: map[uint64]*history.Operation{}, turnEnds: map[uint64]*turn{},
		times: map[uint64]int64{}, revisions: map[uint64]uint64{}, revSeenBy: map[uint64]*history.Operation{}}
	l.ops = splitRepeats(l.ops)
	l.collectTurns()
	l.place()
	if !l.checkFinal() {
		return // without a final order the rules below would only repeat what is wrong
	}
	l.checkTurns()
	l.checkReads()
	l.checkRevisions()
	if !presentRevisions {
		l.checkRetries()
	}
	l.checkRealTime()
}

// collectTurns groups append attempts that carry the same ids.
func (l *log) collectTurns() {
	for _, op := range l.ops {
		if op.Call.Func != history.Append || len(op.Call.Values) == 0 {
			continue
		}
		t := l.owner[op.Call.Values[0]]
		if t == nil || !op.Call.IDs {
			t = &turn{values: op.Call.Values}
			l.turns = append(l.turns, t)
		}
		t.attempts = append(t.attempts, op)
		for _, v := range op.Call.Values {
			if other := l.owner[v]; other != nil && other != t {
				l.undecided("history", fmt.Sprintf("the harness appended %q twice without ids", v), op)
			}
			l.owner[v] = t
		}
	}
}

// place notes for every position that any answer tells which value is there.
func (l *log) place() {
	for _, op := range l.ops {
		if op.Outcome != history.OK {
			continue
		}
		if op.Call.Func != history.Append {
			for _, m := range op.Result.Messages {
				l.see(op, m.Seq, m.Value)
			}
			continue
		}
		r := op.Result
		if r.First == 0 || r.Last-r.First+1 != uint64(len(op.Call.Values)) {
			l.violation("seqs", fmt.Sprintf("an append of %d messages was answered with the seqs %d to %d",
				len(op.Call.Values), r.First, r.Last), op)
			continue
		}
		if op.Call.Watch && r.First != r.Watched {
			l.violation("watch", fmt.Sprintf("there were %d messages under WATCH, and EXEC took place at seq %d",
				r.Watched-1, r.First), op)
		}
		for i, v := range op.Call.Values {
			l.see(op, r.First+uint64(i), v)
		}
	}
}

func (l *log) see(op *history.Operation, seq uint64, value string) {
	if v, ok := l.values[seq]; ok && v != value {
		l.violation("two values", fmt.Sprintf("seq %d was %q and is %q", seq, v, value), l.seenBy[seq], op)
		return
	}
	if other, ok := l.seqs[value]; ok && other != seq {
		l.violation("doubled", fmt.Sprintf("%q is at seq %d and at %d", value, other, seq), l.seenBy[other], op)
		return
	}
	if _, ok := l.values[seq]; !ok {
		l.values[seq], l.seqs[value], l.seenBy[seq] = value, seq, op
	}
}

// checkFinal holds the reads after the last fault against everything seen
// before. It reports whether there is a final order.
func (l *log) checkFinal() bool {
	var final *history.Operation
	for _, op := range l.ops {
		if !op.Call.Final || op.Outcome != history.OK {
			continue
		}
		final = op
		l.checkWhole(op)
	}
	if final == nil {
		l.undecided("no final read", "the session was not read after the faults")
		return false
	}
	l.last = final.Result.Last
	for seq, op := range l.seenBy {
		if seq > l.last {
			l.violation("lost", fmt.Sprintf("%q was at seq %d, but the session ends at %d", l.values[seq], seq,
				l.last), op, final)
		}
	}
	return len(l.out.Violations) == 0
}

// checkWhole requires a final read to show every seq from 1 to the last.
func (l *log) checkWhole(op *history.Operation) {
	next := uint64(1)
	for _, m := range op.Result.Messages {
		if m.Seq != next {
			l.violation("gap", fmt.Sprintf("after seq %d comes %d", next-1, m.Seq), op)
			return
		}
		next++
	}
	if next != op.Result.Last+1 {
		l.violation("lost", fmt.Sprintf("the session claims %d messages and shows %d", op.Result.Last, next-1), op)
	}
}

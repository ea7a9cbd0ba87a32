package lincheck

import (
	"fmt"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// tails judges what subscribers saw of a session from which messages are removed, and which may be
// deleted and begin again. The seqs of an incarnation only rise. A message that a subscriber was
// not shown must have been removed by then: no later read may return it.
type tails struct {
	*session
	deletes bool
	first   map[string]*history.Operation // value → the first attempt to append it
	at      map[string]uint64             // value → the seq that its append was told
	in      map[string]uint64             // value → the incarnation in which it was read
	// lastSeen is the last read that began while a message was there.
	lastSeen map[position]*history.Operation
	before   map[int]*shown // process → what the subscription has shown last
}

// position is a place in an incarnation; 0 if the session is never deleted.
type position struct{ incarnation, seq uint64 }

// shown is a message as a subscription has shown it.
type shown struct {
	position
	known  bool            // the incarnation is
	values map[string]bool // all that this subscription has shown
}

func (s *session) checkTails() {
	t := &tails{session: s, first: s.firstAppends(), at: map[string]uint64{}, in: map[string]uint64{},
		lastSeen: map[position]*history.Operation{}, before: map[int]*shown{}}
	for _, op := range s.ops {
		t.deletes = t.deletes || op.Call.Func == history.Delete
	}
	for _, op := range s.ops {
		if op.Outcome == history.OK && !op.Call.List {
			t.learn(op)
		}
	}
	for _, op := range s.ops {
		if op.Call.Func == history.Tail && op.Outcome == history.OK {
			t.check(op)
		}
	}
}

// learn notes what an answer tells of messages and their places.
func (t *tails) learn(op *history.Operation) {
	switch op.Call.Func {
	case history.Append, history.Replace:
		for i, v := range op.Call.Values {
			t.at[v] = op.Result.First + uint64(i)
		}
		return
	case history.Tail:
		return
	}
	incarnation := op.Result.Incarnation
	if op.Call.Stale || t.deletes && incarnation == 0 {
		return
	}
	if !t.deletes {
		incarnation = 0
	}
	for _, m := range op.Result.Messages {
		t.in[m.Value] = incarnation
		p := position{incarnation, m.Seq}
		if before := t.lastSeen[p]; before == nil || before.Invoke < op.Invoke {
			t.lastSeen[p] = op
		}
	}
}

// check judges what a subscriber was shown next.
func (t *tails) check(op *history.Operation) {
	before := t.before[op.Process]
	if before == nil {
		// Where it begins may be a seq of an earlier incarnation.
		before = &shown{values: map[string]bool{}}
		before.seq, before.known = op.Call.Seq, !t.deletes
	}
	for _, m := range op.Result.Messages {
		incarnation, known := t.in[m.Value]
		next := &shown{position{incarnation, m.Seq}, known || !t.deletes, before.values}
		if !t.follows(op, before, next) {
			return
		}
		if before.values[m.Value] {
			t.violation("tail repeats", fmt.Sprintf("%q was shown twice", m.Value), op)
			return
		}
		before.values[m.Value] = true
		if from := t.first[m.Value]; from != nil && from.Invoke > op.Return {
			t.violation("real time", fmt.Sprintf("seq %d was shown before it was appended", m.Seq), from, op)
		}
		if at := t.at[m.Value]; at != 0 && at != m.Seq {
			t.violation("two values", fmt.Sprintf("%q was shown as seq %d, and is seq %d", m.Value, m.Seq, at), op)
		}
		before = next
	}
	t.before[op.Process] = before
}

// follows judges the place of a message by the one that was shown before it, and reports whether it
// is right.
func (t *tails) follows(op *history.Operation, before, next *shown) bool {
	if !before.known || !next.known {
		return true
	}
	from := before.seq + 1
	switch {
	case next.incarnation > before.incarnation:
		from = 1
	case next.incarnation < before.incarnation:
		t.violation("tail repeats", fmt.Sprintf("seq %d of a deleted session was shown after seq %d of the next one",
			next.seq, before.seq), op)
		return false
	case next.seq < from:
		t.violation("tail repeats", fmt.Sprintf("seq %d was shown after %d", next.seq, before.seq), op)
		return false
	}
	for seq := from; seq < next.seq; seq++ {
		if seen := t.lastSeen[position{next.incarnation, seq}]; seen != nil && seen.Invoke > op.Return {
			t.violation("tail skips",
				fmt.Sprintf("seq %d was shown, %d was not, and is there later", next.seq, seq), op, seen)
			return false
		}
	}
	return true
}

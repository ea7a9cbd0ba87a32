package lincheck

import (
	"fmt"
	"slices"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// checkRevisions requires one revision for each state of the session, rising
// with its messages, and conditional appends to follow the state that their
// condition names.
func (l *log) checkRevisions() {
	for _, op := range l.ops {
		if op.Outcome != history.OK {
			continue
		}
		r := &op.Result
		switch op.Call.Func {
		case history.Read:
			l.revision(op, r.Last, r.Revision)
		case history.Append:
			if r.Duplicate {
				continue // below
			}
			l.revision(op, r.Last, r.Revision)
			l.followed(op, r.First)
		}
	}
	for _, t := range l.turns {
		if op := t.onlyAuthor(); t.first != 0 && op != nil {
			l.followed(op, t.first)
		}
	}
	l.checkOrder()
	l.checkConflicts()
}

// followed takes in that op appended its messages from seq first on: the
// session then had the revision that op was to follow.
func (l *log) followed(op *history.Operation, first uint64) {
	switch e := op.Call.Expect; {
	case e == nil:
	case *e != 0:
		l.revision(op, first-1, *e)
	case first != 1:
		l.violation("condition", fmt.Sprintf("an append to a session that must not exist got seq %d", first), op)
	}
}

// checkOrder requires later states to have higher revisions.
func (l *log) checkOrder() {
	ends := make([]uint64, 0, len(l.revisions))
	for end := range l.revisions {
		ends = append(ends, end)
	}
	slices.Sort(ends)
	for i := 1; i < len(ends); i++ {
		if l.revisions[ends[i]] <= l.revisions[ends[i-1]] {
			l.violation("revision", fmt.Sprintf("revision %d at seq %d, but %d at seq %d",
				l.revisions[ends[i-1]], ends[i-1], l.revisions[ends[i]], ends[i]), l.revSeenBy[ends[i-1]],
				l.revSeenBy[ends[i]])
		}
	}
}

// checkRetries requires that no duplicate was told the revision of another state of the
// session than the one after the first append: going on from there, it would pass over
// what others wrote. Of what is older than cluster level 1 it is told one of no state.
func (l *log) checkRetries() {
	ends := make(map[uint64]uint64, len(l.revisions))
	for end, rev := range l.revisions {
		ends[rev] = end
	}
	for _, op := range l.ops {
		r := &op.Result
		if op.Outcome != history.OK || op.Call.Func != history.Append || !r.Duplicate || r.Revision == 0 {
			continue
		}
		if end, ok := ends[r.Revision]; ok && end != r.Last {
			l.violation("revision of a retry",
				fmt.Sprintf("a retry of the append that ended at seq %d hears revision %d, the one at seq %d",
					r.Last, r.Revision, end), op, l.revSeenBy[end])
		}
	}
}

// checkConflicts requires that no attempt was refused after another attempt
// under the same ids had taken place: ids are looked at before conditions.
func (l *log) checkConflicts() {
	revs := l.revisionTable()
	for _, t := range l.turns {
		for _, op := range t.attempts {
			if t.first == 0 || !op.Call.IDs || !isConflict(op) {
				continue
			}
			if low, _ := revs.between(op.Error.Revision, l.last); low >= t.last() {
				l.violation("false refusal",
					fmt.Sprintf("a conflict at revision %d, when its own messages were there since seq %d",
						op.Error.Revision, t.first), op)
			}
		}
	}
}

func isConflict(op *history.Operation) bool {
	return op.Outcome == history.Fail && op.Error != nil && op.Error.Code == history.Conflict && !op.Call.Watch
}

// revision notes that the session had revision rev when it ended at last.
func (l *log) revision(op *history.Operation, last, rev uint64) {
	if rev == 0 {
		return // not told
	}
	if last == 0 {
		l.violation("revision", fmt.Sprintf("a session without messages has revision %d", rev), op)
		return
	}
	if known, ok := l.revisions[last]; ok && known != rev {
		l.violation("revision", fmt.Sprintf("at seq %d the revision is %d and is %d", last, known, rev),
			l.revSeenBy[last], op)
		return
	}
	if _, ok := l.revisions[last]; !ok {
		l.revisions[last], l.revSeenBy[last] = rev, op
	}
}

// revisionTable is the revisions by rising seq, for lookups.
type revisionTable struct{ ends, revs []uint64 }

func (l *log) revisionTable() revisionTable {
	t := revisionTable{ends: []uint64{0}, revs: []uint64{0}}
	for end := range l.revisions {
		t.ends = append(t.ends, end)
	}
	slices.Sort(t.ends)
	for _, end := range t.ends[1:] {
		t.revs = append(t.revs, l.revisions[end])
	}
	return t
}

// between returns between which two ends (inclusive) the session was when it had
// revision rev. They are equal if some answer told that revision.
func (t revisionTable) between(rev, last uint64) (low, high uint64) {
	i, exact := slices.BinarySearch(t.revs, rev)
	if exact {
		return t.ends[i], t.ends[i]
	}
	low, high = t.ends[i-1]+1, last
	if i < len(t.ends) {
		high = t.ends[i] - 1
	}
	return low, high
}

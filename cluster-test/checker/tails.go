package checker

import (
	"fmt"

	"github.com/turnlog/turnlog/cluster-test/history"
)

// checkTails judges what subscribers saw of a session from which messages are removed, as long
// as it is not deleted: its seqs only rise. A message that a subscriber was not shown must have
// been removed by then: no later read may return it.
func (s *session) checkTails() {
	first := s.firstAppends()
	at := map[uint64]*history.Operation{}       // seq → the append that was given it
	lastSeen := map[uint64]*history.Operation{} // seq → the last read or pop that began while it was there
	for _, op := range s.ops {
		switch {
		case op.Call.Func == history.Delete:
			return
		case op.Outcome != history.OK || op.Call.List:
		case op.Call.Func == history.Append || op.Call.Func == history.Replace:
			for i := range op.Call.Values {
				at[op.Result.First+uint64(i)] = op
			}
		case !op.Call.Stale && op.Call.Func != history.Tail:
			for _, m := range op.Result.Messages {
				if before := lastSeen[m.Seq]; before == nil || before.Invoke < op.Invoke {
					lastSeen[m.Seq] = op
				}
			}
		}
	}
	for _, op := range s.ops {
		if op.Call.Func == history.Tail && op.Outcome == history.OK {
			s.checkTail(op, first, at, lastSeen)
		}
	}
}

// checkTail judges what a subscriber was shown next.
func (s *session) checkTail(op *history.Operation, first map[string]*history.Operation, at, lastSeen map[uint64]*history.Operation) {
	next := op.Call.Seq + 1
	for _, m := range op.Result.Messages {
		if m.Seq < next {
			s.violation("tail repeats", fmt.Sprintf("seq %d was shown after %d", m.Seq, next-1), op)
			return
		}
		for ; next < m.Seq; next++ {
			if seen := lastSeen[next]; seen != nil && seen.Invoke > op.Return {
				s.violation("tail skips", fmt.Sprintf("seq %d was shown, %d was not, and is there later", m.Seq, next), op, seen)
				return
			}
		}
		next++
		if from := first[m.Value]; from != nil && from.Invoke > op.Return {
			s.violation("real time", fmt.Sprintf("seq %d was shown before it was appended", m.Seq), from, op)
		}
		if from := at[m.Seq]; from != nil && from.Call.Values[m.Seq-from.Result.First] != m.Value {
			s.violation("two values", fmt.Sprintf("seq %d was shown as %q, and is another message", m.Seq, m.Value), from, op)
		}
	}
}

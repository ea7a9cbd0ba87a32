package lincheck

import (
	"fmt"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// checkReads holds every answer's messages against what was asked for. That
// each message is the one that belongs at its seq was established by see.
func (l *log) checkReads() {
	l.noteTimes()
	for _, op := range l.ops {
		if op.Outcome != history.OK {
			continue
		}
		switch op.Call.Func {
		case history.Read:
			l.checkRead(op)
		case history.Tail:
			l.checkContiguous(op, op.Call.Seq+1)
		}
	}
}

func (l *log) checkRead(op *history.Operation) {
	r := &op.Result
	if r.Last > l.last {
		l.violation("lost", fmt.Sprintf("the session ended at %d and later at %d", r.Last, l.last), op)
		return
	}
	if r.Last != 0 && l.turnEnds[r.Last] == nil {
		l.violation("torn turn", fmt.Sprintf("a read ends at seq %d, inside the messages of one append", r.Last), op)
		return
	}
	if r.Count != r.Last {
		l.violation("count", fmt.Sprintf("%d messages, the last is %d, and none was removed", r.Count, r.Last), op)
	}
	if op.Call.Selects() {
		l.checkSelected(op)
		return
	}
	first, want := wanted(&op.Call, r.Last)
	got := uint64(len(r.Messages))
	if r.More && op.Call.Latest {
		// The size of the answer is bounded too; the cut is at the old end.
		first, want = first+want-got, got
	} else if r.More {
		want = got
	}
	if got == 0 && want > 0 || got != want {
		l.violation("gap", fmt.Sprintf("a read shows %d messages instead of the %d from seq %d on", got, want,
			first), op)
		return
	}
	l.checkContiguous(op, first)
}

// wanted is what a read of a session that ends at last should show.
func wanted(c *history.Call, last uint64) (first, count uint64) {
	count = last
	if !c.Latest {
		if c.Seq >= last {
			return last + 1, 0
		}
		count = last - c.Seq
	}
	limited := c.N != 0 && c.N < count
	if limited {
		count = c.N
	}
	if c.Latest {
		return last - count + 1, count
	}
	return c.Seq + 1, count
}

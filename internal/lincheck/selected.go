package lincheck

import (
	"fmt"
	"strings"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// toolReach is how far apart, in messages, a tool call and its result may be to be kept together.
const toolReach = 128

// noteTimes gathers the times of messages. Each has one time, at every node, and none is before that of the
// message before it.
func (l *log) noteTimes() {
	for _, op := range l.ops {
		if op.Outcome != history.OK || !op.Call.Timed {
			continue
		}
		for _, m := range op.Result.Messages {
			if at, known := l.times[m.Seq]; known && at != m.Time || m.Time == 0 {
				l.violation("time", fmt.Sprintf("message %d has the time %d, and had %d", m.Seq, m.Time, at), op)
				return
			}
			l.times[m.Seq] = m.Time
		}
	}
	for seq := uint64(2); seq <= l.last; seq++ {
		if before, at := l.times[seq-1], l.times[seq]; at != 0 && at < before {
			l.violation("time", fmt.Sprintf("message %d has the time %d, the one before it %d", seq, at, before))
			return
		}
	}
}

// checkSelected holds a read by time, or a whole one, against what it should show of the session as it was:
// the messages of those times, which follow one another, of these as many as were asked for, and neither a call
// without its result nor a result without its call.
func (l *log) checkSelected(op *history.Operation) {
	c, r := &op.Call, &op.Result
	first, end, ok := l.ofTimes(c, r.Last)
	if !ok {
		l.undecided("time", "no answer tells the times of all messages", op)
		return
	}
	if !c.Latest {
		first = min(max(first, c.Seq+1), end)
	}
	all := end - first
	want := all
	if c.N != 0 && c.N < all {
		want = c.N
		if c.Whole {
			want = l.wholePart(c.Latest, first, end, c.N)
		}
	}
	if c.Latest {
		first = end - want
	}
	if got := uint64(len(r.Messages)); got != want || r.More != (want < all) {
		l.violation("selection", fmt.Sprintf("a read shows %d messages, and says that there are more: %v; of the %d "+
			"that it asks for, it is to show %d, from seq %d on", got, r.More, all, want, first), op)
		return
	}
	l.checkContiguous(op, first)
}

// ofTimes returns the seq of the first message of a read's times, and of the one behind the last, in a
// session that ends at last.
func (l *log) ofTimes(c *history.Call, last uint64) (first, end uint64, ok bool) {
	first, end = 1, last+1
	if c.Since == 0 && c.Until == 0 {
		return first, end, true
	}
	for seq := first; seq < end; seq++ {
		if l.times[seq] == 0 {
			return 0, 0, false
		}
	}
	for first < end && l.times[first] < c.Since {
		first++
	}
	for end > first && c.Until != 0 && l.times[end-1] >= c.Until {
		end--
	}
	return first, end, true
}

// wholePart returns how many messages of those from first to before end, counted from the newest or the oldest, a
// whole read shows that asks for n: the most up to n that separate nothing, or else the fewest beyond.
func (l *log) wholePart(latest bool, first, end, n uint64) uint64 {
	cut := func(k uint64) uint64 {
		if latest {
			return end - k
		}
		return first + k
	}
	for k := n; k > 0; k-- {
		if !l.separates(first, cut(k), end) {
			return k
		}
	}
	for k := n + 1; k < end-first; k++ {
		if !l.separates(first, cut(k), end) {
			return k
		}
	}
	return end - first
}

// separates reports whether a call before a cut has its result behind it.
func (l *log) separates(first, cut, end uint64) bool {
	for seq := cut; seq < min(end, cut+toolReach); seq++ {
		id, ok := strings.CutSuffix(l.values[seq], history.ToolResult)
		if call := l.seqs[id+history.ToolCall]; ok && first <= call && call < cut && seq-call <= toolReach {
			return true
		}
	}
	return false
}

func (l *log) checkContiguous(op *history.Operation, next uint64) {
	for _, m := range op.Result.Messages {
		if m.Seq != next {
			l.violation("gap", fmt.Sprintf("seq %d where %d should be", m.Seq, next), op)
			return
		}
		next++
	}
}

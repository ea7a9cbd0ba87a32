package lincheck

import (
	"fmt"
	"time"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// clockSlack is for right clocks: cluster time counts in whole milliseconds.
const clockSlack = 5 * time.Millisecond

// expiryGrace is how much later than its deadline a session may still be there
// in a healthy cluster.
const expiryGrace = int64(5 * time.Second)

// checkExpiry judges a session whose appends renew a deadline: it must not go
// before the deadline, and must have gone some time after it.
func (s *session) checkExpiry(slack int64) {
	for _, read := range s.ops {
		c := &read.Call
		whole := c.Func == history.Read && !c.Latest && c.Seq == 0 && c.N == 0 && !read.Result.More
		if whole && read.Outcome == history.OK && !c.Stale {
			s.checkNotEarly(read, slack)
		}
	}
	s.checkGone()
}

// checkNotEarly requires in a read every message that was acknowledged before
// the read began and whose time cannot have run out before the read ended.
func (s *session) checkNotEarly(read *history.Operation, slack int64) {
	seen := map[string]bool{}
	for _, m := range read.Result.Messages {
		seen[m.Value] = true
	}
	for _, op := range s.ops {
		if op.Call.Func != history.Append || op.Outcome != history.OK || op.Return >= read.Invoke {
			continue
		}
		if op.Result.Duplicate {
			continue // when the first attempt took place, and so renewed the deadline, is not known
		}
		deadline := op.Invoke + op.Call.TTL*int64(time.Millisecond)
		if read.Return >= deadline-slack {
			continue
		}
		for _, v := range op.Call.Values {
			if !seen[v] {
				s.violation("expired early", fmt.Sprintf("%q is gone at least %.0f ms before its time",
					v, float64(deadline-read.Return)/1e6), op, read)
				return
			}
		}
	}
}

// checkGone requires the final reads that began long after the last deadline to
// find nothing.
func (s *session) checkGone() {
	var deadline int64
	for _, op := range s.ops {
		if op.Call.Func == history.Append {
			deadline = max(deadline, max(op.Invoke, op.End)+op.Call.TTL*int64(time.Millisecond))
		}
	}
	decided := false
	for _, op := range s.ops {
		if !op.Call.Final || op.Outcome != history.OK || op.Invoke < deadline+expiryGrace {
			continue
		}
		decided = true
		if len(op.Result.Messages) != 0 || op.Result.Last != 0 {
			s.violation("not expired", fmt.Sprintf("%d messages are there %.0f ms after their time",
				len(op.Result.Messages), float64(op.Invoke-deadline)/1e6), op)
		}
	}
	if !decided {
		s.undecided("no final read", "the session was not read after its deadline")
	}
}

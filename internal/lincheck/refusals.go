package lincheck

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// Refusal is a code of errors with which calls may fail that were in flight at some time between
// two.
type Refusal struct {
	Code     string
	From, To int64 // nanoseconds since the run began
}

func (r *Refusal) explains(op *history.Operation) bool {
	return r.Code == op.Error.Code && op.Invoke <= r.To && op.Return >= r.From
}

// checkRefusals requires that calls fail only in ways that the faults of the run
// explain, and not before a node has waited for a leader. A caller that gave a call less time than an
// election takes cannot tell why it got no answer.
func (s *session) checkRefusals(allowed []Refusal, losses []history.RightsLoss) {
	if allowed == nil {
		return
	}
	for _, op := range s.ops {
		if op.Error == nil || meant(op) || withoutRights(op, losses) {
			continue
		}
		switch {
		case !slices.ContainsFunc(allowed, func(r Refusal) bool { return r.explains(op) }):
			s.violation("refusal", fmt.Sprintf("%s failed with %v, which nothing that was done to the cluster explains",
				describe(op), op.Error), op)
		case atOnce(op):
			s.violation("refused at once", fmt.Sprintf("%s was refused with %v after %.0f ms, although nodes wait for "+
				"a leader", describe(op), op.Error, float64(op.End-op.Invoke)/1e6), op)
		}
	}
}

// leaderWait is how long nodes wait for a leader before they say that there is none, less what the
// harness's clock and the way there may take off.
const leaderWait = int64(2 * time.Second)

// withoutWait are what a node says that has reason not to wait.
var withoutWait = []string{"stopping", "has stopped", "EXECABORT"}

// atOnce reports whether a node said that it was unavailable, and had not waited.
func atOnce(op *history.Operation) bool {
	return op.Error.Code == "UNAVAILABLE" && op.Error.Answered && op.End-op.Invoke < leaderWait &&
		!slices.ContainsFunc(withoutWait, func(text string) bool { return strings.Contains(op.Error.Message, text) })
}

// meant reports whether the failure follows from what the operation says: other
// rules judge whether it was right.
func meant(op *history.Operation) bool {
	switch op.Error.Code {
	case history.Conflict, "ENDED": // a tail ends when its time is over, too
		return true
	case notFound:
		return op.Call.Func == history.Replace || op.Call.Func == history.Clear
	case "UNAVAILABLE", "UNKNOWN_OUTCOME":
		return op.Call.Hasty
	}
	return false
}

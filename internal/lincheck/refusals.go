package lincheck

import (
	"fmt"
	"slices"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// checkRefusals requires that calls fail only in ways that the faults of the run
// explain. A caller that gave a call less time than an election takes cannot tell
// why it got no answer.
func (s *session) checkRefusals(allowed []string, losses []history.RightsLoss) {
	if allowed == nil {
		return
	}
	for _, op := range s.ops {
		if op.Error == nil || slices.Contains(allowed, op.Error.Code) || meant(op) || withoutRights(op, losses) {
			continue
		}
		s.violation("refusal", fmt.Sprintf("%s failed with %v, which nothing that was done to the cluster explains",
			describe(op), op.Error), op)
	}
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

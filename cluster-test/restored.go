package main

import (
	"fmt"
	"strings"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// checkRestored holds what a restored cluster has against the history of the one that the backup is of. Sessions
// only grow, so that each must be the beginning of what it was in the end. Began is when the backup began.
//
// Revisions are counted by namespace: what the restored sessions of one show as the highest is how far the
// backup goes there, and decides of each append whether it must be in it. So a backup of several moments is found.
func checkRestored(ops []history.Operation, began int64, has map[string]history.Result) (problems []string) {
	seen := make(map[string]bool)
	problem := func(op *history.Operation, format string, args ...any) {
		if text := fmt.Sprintf(format, args...); !seen[op.Session] { // one for each session is enough
			seen[op.Session] = true
			problems = append(problems, fmt.Sprintf("session %q, operation %d: %s", op.Session, op.ID, text))
		}
	}
	newest := make(map[string]uint64)
	for session, r := range has {
		ns, _, _ := strings.Cut(session, "/")
		newest[ns] = max(newest[ns], r.Revision)
	}
	for i := range ops {
		op := &ops[i]
		if op.Outcome != history.OK {
			continue
		}
		r := has[op.Session]
		ns, _, _ := strings.Cut(op.Session, "/")
		switch {
		case op.Call.Final:
			if why := notBeginning(&r, &op.Result); why != "" {
				problem(op, "%s", why)
			}
		case op.Call.Func != history.Append:
		case op.Return < began && op.Result.Last > r.Last:
			problem(op, "the append of seqs %d to %d was acknowledged before the backup began, and the session ends "+
				"at %d",
				op.Result.First, op.Result.Last, r.Last)
		case op.Result.Revision == 0 || op.Result.Duplicate: // tells nothing of when it took place
		case op.Result.Revision <= newest[ns] != (op.Result.Last <= r.Last):
			problem(op, "the append of seqs %d to %d made revision %d, the backup goes up to revision %d, and has "+
				"the session up to %d", op.Result.First, op.Result.Last, op.Result.Revision, newest[ns], r.Last)
		}
	}
	return problems
}

// notBeginning tells why a restored session is not the beginning of what it was in the end; empty: it is.
func notBeginning(r, end *history.Result) string {
	if uint64(len(r.Messages)) != r.Last {
		return fmt.Sprintf("it has %d messages, and its last seq is %d", len(r.Messages), r.Last)
	}
	if len(r.Messages) > len(end.Messages) {
		return fmt.Sprintf("it has %d messages, and had %d in the end", len(r.Messages), len(end.Messages))
	}
	for i, m := range r.Messages {
		if m.Seq != end.Messages[i].Seq || m.Value != end.Messages[i].Value {
			return fmt.Sprintf("message %d is %q, and was %q", m.Seq, m.Value, end.Messages[i].Value)
		}
	}
	return ""
}

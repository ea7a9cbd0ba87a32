package lincheck

import (
	"fmt"
	"strings"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// checkRights requires that nothing takes place for a user without the right to it: from
// when every node knew that it was lost until a node may have given it back.
func (s *session) checkRights(losses []history.RightsLoss) {
	appended := s.firstAppends()
	for i := range losses {
		l := &losses[i]
		for _, op := range s.ops {
			if op.Outcome != history.OK || op.Return >= l.Coming {
				continue
			}
			if within(l, op) && (op.Call.Func.Writes() || l.Reads && op.Call.Func == history.Read) {
				s.violation("without the right",
					fmt.Sprintf("%s took place after %s had lost the right to it", describe(op), l.User), op)
			}
			for _, m := range op.Result.Messages {
				from := appended[m.Value]
				switch {
				case from == nil || from.Invoke <= l.Gone:
				case from.Call.User == l.User:
					s.violation("without the right",
						fmt.Sprintf("%q is there, which %s appended after the right to write was lost", m.Value,
							l.User), from, op)
				case l.Reads && op.Call.User == l.User:
					s.violation("without the right",
						fmt.Sprintf("%q was shown to %s, whose right to read had been lost before it was appended",
							m.Value, l.User), from, op)
				}
			}
		}
	}
}

// within reports whether the user made the call while the right was lost. What a tail
// shows may have been sent before.
func within(l *history.RightsLoss, op *history.Operation) bool {
	return op.Call.User == l.User && op.Invoke > l.Gone && op.Call.Func != history.Tail &&
		op.Call.Func != history.Listen
}

// firstAppends returns, by value, the first attempt to append it.
func (s *session) firstAppends() map[string]*history.Operation {
	first := map[string]*history.Operation{}
	for _, op := range s.ops {
		for _, v := range op.Call.Values {
			if first[v] == nil {
				first[v] = op
			}
		}
	}
	return first
}

// withoutRights reports whether the operation failed since its user may just have lost
// the right to it. A user that was removed may also be told that too many unproven secrets
// wait; and nodes of older versions answer its large requests with an error of the protocol.
func withoutRights(op *history.Operation, losses []history.RightsLoss) bool {
	for _, l := range losses {
		if op.Call.User != l.User || op.Invoke > l.Back || op.End < l.Going {
			continue
		}
		switch op.Error.Code {
		case "FORBIDDEN", "UNAUTHORIZED":
			return true
		case "OVERLOADED":
			return l.Reads
		case "INVALID", "INTERNAL":
			return l.Reads && strings.Contains(op.Error.Message, "unauthenticated")
		}
	}
	return false
}

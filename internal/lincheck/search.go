package lincheck

import (
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// search looks for an order of the session's operations that agrees with the
// clock and with the obvious session. It is exact, and exponential in the
// number of operations that overlap.
func (s *session) search(timeout time.Duration) { s.searchWith(model, timeout) }

func (s *session) searchWith(model porcupine.Model, timeout time.Duration) {
	s.out.Searched++
	switch porcupine.CheckOperationsTimeout(model, searchable(s.ops), timeout) {
	case porcupine.Illegal:
		s.violation("not linearizable", "no order of the operations explains what they answered", s.ops...)
	case porcupine.Unknown:
		s.undecided("search", fmt.Sprintf("no legal order was found in %v, nor that there is none", timeout), s.ops...)
	}
}

// searchable selects the operations that say something about linearizability.
//
// Attempts at one append under ids, or one transaction, whose outcome is unknown count as one, that
// may take place at any time from the first of them on: the ids let one take place only,
// and each more would double what has to be searched.
func searchable(ops []*history.Operation) []porcupine.Operation {
	var out []porcupine.Operation
	open := map[string]*history.Call{} // by the first value, or the words
	for _, op := range ops {
		c := &op.Call
		if op.Outcome == history.Info && c.IDs && (c.Func == history.Append || c.Func == history.Do) {
			under := fmt.Sprint(append(c.Values[:min(1, len(c.Values))], c.Command...))
			if before := open[under]; before != nil && sameAttempt(before, c) {
				continue
			}
			open[under] = c
		}
		switch {
		case c.Stale, c.Func == history.Tail:
			continue // promise less; the linear checker judges them
		case op.Outcome == history.Info && !c.Func.Writes():
			continue
		case op.Outcome == history.Fail && !isConflict(op) && !isNotFound(op):
			continue
		}
		out = append(out, porcupine.Operation{ClientId: op.Process, Input: op, Output: op, Call: op.Invoke,
			Return: op.Return})
	}
	return out
}

// endedWait reports whether op waited for an element, and its time was over: then the list was
// empty at some time while it waited. Versions before cluster level 1 do not promise that.
func endedWait(op *history.Operation) bool {
	return op.Call.Blocks && op.Outcome == history.OK && len(op.Result.Messages) == 0
}

func sameAttempt(a, b *history.Call) bool {
	return slices.Equal(a.Values, b.Values) && a.TTL == b.TTL && (a.Expect == nil) == (b.Expect == nil) &&
		(a.Expect == nil || *a.Expect == *b.Expect)
}

func isNotFound(op *history.Operation) bool {
	return op.Outcome == history.Fail && op.Error != nil && op.Error.Code == notFound
}

// model has *history.Operation as input and output, *state as state.
var model = porcupine.Model{
	Init: func() any { return newState() },
	Step: func(st, in, _ any) (bool, any) {
		next, ok := st.(*state).step(in.(*history.Operation))
		return ok, next
	},
	Equal:             func(a, b any) bool { return a.(*state).key == b.(*state).key },
	Hash:              func(st any) uint64 { return maphash.String(seed, st.(*state).key) },
	DescribeOperation: func(in, _ any) string { return describeCall(in.(*history.Operation)) },
	DescribeState:     func(st any) string { return st.(*state).key },
}

var seed = maphash.MakeSeed()

// step carries out op and reports whether its answer is the right one. Without
// an answer the operation is carried out: had it not taken place, the search
// can still put it after everything else, where no read sees it.
func (s *state) step(op *history.Operation) (*state, bool) {
	next, want := s.apply(&op.Call)
	if op.Outcome == history.Info {
		if !want.changed {
			return s, true
		}
		return next.withRevision(s, 0), true
	}
	if op.Outcome == history.Fail {
		return s.refused(op, want)
	}
	if want.code != "" {
		return s, false
	}
	if op.IsOwnDuplicate() && want.changed {
		return next.withRevision(s, 0), op.Result.First == want.First && op.Result.Last == want.Last
	}
	if !answers(op, want.Result) {
		return s, false
	}
	rev := op.Result.Revision
	switch {
	case want.changed && rev != 0 && (rev <= s.revision || op.Call.Expect != nil && rev <= *op.Call.Expect):
		return s, false
	case want.changed:
		return next.withRevision(s, rev), true
	case want.Duplicate || rev == 0:
		return s, true
	}
	return s.learn(rev)
}

// answers reports whether got is what the model says, as far as the API that
// was used tells it.
func answers(op *history.Operation, want history.Result) bool {
	got := &op.Result
	if op.Call.List {
		return answersList(op, want)
	}
	if got.First != want.First && op.Call.Func != history.Read || got.Last != want.Last ||
		got.Duplicate != want.Duplicate {
		return false
	}
	told := op.Call.Func == history.Read || got.Count != 0
	if told && !want.Duplicate && got.Count != want.Count || got.Removed != want.Removed {
		return false
	}
	messages := want.Messages
	if got.More && len(got.Messages) > 0 && len(got.Messages) < len(messages) {
		if op.Call.Latest {
			messages = messages[len(messages)-len(got.Messages):]
		} else {
			messages = messages[:len(got.Messages)]
		}
	}
	return slices.Equal(got.Messages, messages)
}

// answersList is answers for a plain list command.
func answersList(op *history.Operation, want history.Result) bool {
	got := &op.Result
	if f := op.Call.Func; (f == history.Append || f == history.Read) && got.Count != want.Count {
		return false
	}
	return op.Call.LengthOnly() || slices.EqualFunc(got.Messages, want.Messages,
		func(a, b history.Message) bool { return a.Value == b.Value })
}

// withRevision completes s, which follows before, by its revision: 0 if untold.
func (s *state) withRevision(before *state, rev uint64) *state {
	next := *s
	next.exact = rev != 0
	next.revision = max(rev, before.revision)
	return next.sealed()
}

// learn takes in that the session has revision rev, and reports if it can.
func (s *state) learn(rev uint64) (*state, bool) {
	if s.exact || rev <= s.revision {
		return s, s.exact && s.exists && rev == s.revision
	}
	return s.withRevision(s, rev), s.exists
}

// refused judges a conflict or a session not found.
func (s *state) refused(op *history.Operation, want reply) (*state, bool) {
	if isNotFound(op) { // a clear has that before the cluster is at level 1
		return s, !s.exists && (op.Call.Func == history.Replace || op.Call.Func == history.Clear)
	}
	rev := op.Error.Revision
	if want.Duplicate || op.Call.Expect == nil || *op.Call.Expect == rev {
		return s, false
	}
	if rev == 0 || !s.exists {
		return s, rev == 0 && !s.exists
	}
	return s.learn(rev)
}

func describeCall(op *history.Operation) string {
	c := &op.Call
	text := string(c.Func)
	if len(c.Values) > 0 {
		text += fmt.Sprintf(" %v", c.Values)
	}
	if c.N != 0 || c.Seq != 0 {
		text += fmt.Sprintf(" n=%d seq=%d", c.N, c.Seq)
	}
	if c.Expect != nil {
		text += fmt.Sprintf(" expect=%d", *c.Expect)
	}
	switch op.Outcome {
	case history.Info:
		return text + " → ?"
	case history.Fail:
		return fmt.Sprintf("%s → %s revision=%d", text, op.Error.Code, op.Error.Revision)
	}
	r := &op.Result
	return fmt.Sprintf("%s → first=%d last=%d rev=%d count=%d removed=%d dup=%t %v",
		text, r.First, r.Last, r.Revision, r.Count, r.Removed, r.Duplicate, r.Messages)
}

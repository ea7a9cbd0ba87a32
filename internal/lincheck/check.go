// Package lincheck judges a history: was every promise kept in it?
//
// Sessions are independent, so each is judged alone, by what was done to it:
//
//   - a session that was only appended to and read has a final order that is
//     known, and is judged in O(n log n) (log.go);
//   - a session whose messages had a deadline is judged by the clock (ttl.go), and
//     by search, in which it may expire at any moment that the clock allows (expiry.go);
//   - a session that was also popped, trimmed, cleared or deleted is judged by
//     search for a legal order of its operations (search.go), and is kept small;
//   - so is a key of Redis, of whatever type (values.go), and so are sessions among which transactions move
//     messages (moves.go);
//   - a channel of Redis is judged by what each subscriber received (publish.go).
//
// What cannot be decided is not passed: it is reported as undecided.
package lincheck

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// Options bounds the search.
type Options struct {
	// SearchTimeout is how long the search may take for one session.
	SearchTimeout time.Duration
	// CrossCheck is the size, in operations, up to which a session that the
	// linear checker has judged is searched too. 0: none.
	CrossCheck int
	// Refusals are the errors with which calls may fail, beside those that an operation's
	// own meaning asks for. nil: any.
	Refusals []Refusal
	// Rights are the times in which users had lost rights.
	Rights []history.RightsLoss
	// ClockSlack is how much sooner than promised a deadline may seem to pass.
	ClockSlack time.Duration
	// PresentRevisions: the cluster may be below level 1, where the retry of an append
	// hears the session's present revision, and a wait that ends without an element proves nothing.
	PresentRevisions bool
	// Calm: nothing was done to the cluster, and its leader stayed.
	Calm bool
}

// DefaultOptions suit a run of a few minutes.
func DefaultOptions() Options {
	return Options{SearchTimeout: 20 * time.Second, CrossCheck: 60, ClockSlack: clockSlack}
}

// Check judges a history. Sessions are judged on all processors at once.
func Check(ops []history.Operation, opts Options) *Verdict {
	sessions, homes := split(ops)
	names := make([]string, 0, len(sessions))
	for name := range sessions {
		names = append(names, name)
	}
	slices.Sort(names)

	next := make(chan string)
	var mu sync.Mutex // guards total
	total := &Verdict{}
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for name := range next {
				v := checkSession(name, sessions[name], homes, opts)
				mu.Lock()
				total.add(v)
				mu.Unlock()
			}
		})
	}
	for _, name := range names {
		next <- name
	}
	close(next)
	workers.Wait()
	total.Violations = append(total.Violations, checkPipelineRevisions(ops)...)
	for _, list := range [][]Violation{total.Violations, total.Undecided} {
		slices.SortStableFunc(list, func(a, b Violation) int { return cmp.Compare(a.Session, b.Session) })
	}
	return total
}

// split sorts operations by session, and tells for each appended value which
// session it belongs to.
func split(ops []history.Operation) (sessions map[string][]*history.Operation, homes map[string]string) {
	sessions = map[string][]*history.Operation{}
	homes = map[string]string{}
	for i := range ops {
		op := &ops[i]
		sessions[op.Session] = append(sessions[op.Session], op)
		for _, value := range op.Call.Values {
			homes[value] = op.Session
		}
	}
	return sessions, homes
}

func checkSession(name string, ops []*history.Operation, homes map[string]string, opts Options) *Verdict {
	s := &session{name: name, ops: ops, homes: homes, out: &Verdict{Operations: len(ops), Sessions: 1}}
	s.checkForeign()
	s.checkRefusals(opts.Refusals, opts.Rights)
	s.checkRights(opts.Rights)
	switch kind(ops) {
	case expiring:
		s.checkExpiry(int64(opts.ClockSlack))
		s.checkIdentity()
		if len(s.out.Violations) == 0 {
			s.searchExpiring(opts.SearchTimeout, int64(opts.ClockSlack))
		}
	case valued:
		s.checkValue(opts.SearchTimeout)
	case published:
		s.checkPublished(opts.Calm)
	case changing:
		s.checkAgreement()
		s.checkIdentity()
		s.checkTails()
		if opts.PresentRevisions {
			s.ops = slices.DeleteFunc(s.ops, endedWait)
		}
		s.search(opts.SearchTimeout)
	default:
		s.checkAgreement()
		s.checkLog(opts.PresentRevisions)
		if len(ops) <= opts.CrossCheck && len(s.out.Violations) == 0 && !pipelined(ops) && !selects(ops) &&
			len(repeatedValues(ops)) == 0 {
			s.search(opts.SearchTimeout)
		}
	}
	return s.out
}

// pipelined reports whether so many operations overlap that no search ends.
func pipelined(ops []*history.Operation) bool {
	return slices.ContainsFunc(ops, func(op *history.Operation) bool { return op.Call.Pipeline != 0 })
}

// selects reports whether there are reads of which the model of the search knows nothing.
func selects(ops []*history.Operation) bool {
	return slices.ContainsFunc(ops, func(op *history.Operation) bool { return op.Call.Selects() || op.Call.Timed })
}

type sessionKind int

const (
	growing   sessionKind = iota // appended to and read
	changing                     // messages were removed as well
	expiring                     // messages had a deadline
	valued                       // a key of Redis, of any type
	published                    // a channel of Redis
)

func kind(ops []*history.Operation) sessionKind {
	k := growing
	for _, op := range ops {
		switch op.Call.Func {
		case history.Append, history.Read, history.Tail:
			if op.Call.TTL != 0 {
				return expiring
			}
			if op.Call.List {
				k = changing
			}
		case history.Do, history.Ask:
			return valued
		case history.Publish, history.Listen:
			return published
		default:
			k = changing
		}
	}
	return k
}

// checkForeign looks for messages that were never appended to this session.
func (s *session) checkForeign() {
	for _, op := range s.ops {
		if op.Outcome != history.OK {
			continue
		}
		for _, m := range op.Result.Messages {
			home, known := s.homes[m.Value]
			switch {
			case !known:
				s.violation("foreign", fmt.Sprintf("message %d holds %q, which was not appended", m.Seq, m.Value), op)
			case home != s.name:
				s.violation("foreign", fmt.Sprintf("message %d holds %q, which was appended to session %q", m.Seq,
					m.Value, home), op)
			default:
				continue
			}
			return // one leak is as good as a hundred
		}
	}
}

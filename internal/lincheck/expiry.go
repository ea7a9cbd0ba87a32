package lincheck

import (
	"fmt"
	"hash/maphash"
	"math"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// mortal is a session with a deadline, as the search sees it. No operation tells when it
// expires: between the earliest and the latest moment at which its deadline can
// have been, any operation may find it there or gone, and once gone it is gone for
// all that follow. Ids of its messages stay known.
type mortal struct {
	*state
	ttl int64 // of the append that renewed it last, in nanoseconds; 0: no deadline
	// In nanoseconds since the run began. latest is math.MaxInt64 as long as nothing
	// shows when that append had taken place.
	earliest, latest int64
}

// clockBounds says how exactly deadlines are kept.
type clockBounds struct {
	early int64 // how much sooner than promised a deadline may seem to pass
	late  int64 // for how long after it a session may still be shown
}

// expiringModel has *history.Operation as input and output, *mortal as state.
func expiringModel(b clockBounds) porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{&mortal{state: newState()}} },
		Step: func(st, in, _ any) []any { return st.(*mortal).outcomes(in.(*history.Operation), b) },
		Equal: func(x, y any) bool {
			a, b := x.(*mortal), y.(*mortal)
			return a.key == b.key && a.earliest == b.earliest && a.latest == b.latest && a.ttl == b.ttl
		},
		Hash:              func(st any) uint64 { return maphash.String(seed, st.(*mortal).key) },
		DescribeOperation: func(in, _ any) string { return describeCall(in.(*history.Operation)) },
		DescribeState: func(st any) string {
			s := st.(*mortal)
			return fmt.Sprintf("%s, deadline between %.1f and %.1f ms", s.key, float64(s.earliest)/1e6,
				float64(s.latest)/1e6)
		},
	}
	return m.ToModel()
}

// outcomes returns the sessions that op may leave, none if its answer is wrong.
func (s *mortal) outcomes(op *history.Operation, b clockBounds) (next []any) {
	if !s.mayExpire(op, b) || s.latest == math.MaxInt64 || op.Invoke <= s.latest+b.late {
		if after, ok := s.step(op); ok {
			next = append(next, s.then(after, op))
		}
	}
	if s.mayExpire(op, b) {
		gone := &mortal{state: (&state{known: s.known, revision: s.revision}).sealed()}
		if after, ok := gone.step(op); ok {
			next = append(next, gone.then(after, op))
		}
	}
	return next
}

// mayExpire reports whether the session can have expired before op took effect.
func (s *mortal) mayExpire(op *history.Operation, b clockBounds) bool {
	return s.exists && s.ttl != 0 && op.Return > s.earliest-b.early
}

// then is the session after op, which made after of it.
func (s *mortal) then(after *state, op *history.Operation) *mortal {
	next := &mortal{state: after, ttl: s.ttl, earliest: s.earliest, latest: s.latest}
	if op.Call.Func == history.Append && after.last > s.last {
		next.ttl = op.Call.TTL * int64(time.Millisecond)
		next.earliest, next.latest = op.Invoke+next.ttl, math.MaxInt64
	}
	if next.ttl != 0 && op.Return != history.Forever { // whatever came before op has taken place by now
		next.latest = min(next.latest, op.Return+next.ttl)
	}
	return next
}

// searchExpiring is search for a session with a deadline.
func (s *session) searchExpiring(timeout time.Duration, slack int64) {
	b := clockBounds{early: slack, late: expiryGrace + slack}
	s.searchWith(expiringModel(b), timeout)
}

package lincheck

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// gone is the read that ends each of these histories, long after all deadlines.
const gone = "\n 20000-20001 final -> last=0"

func TestGoodExpiringHistories(t *testing.T) {
	for name, text := range map[string]string{
		"there, gone, begun again": `
			0-1 append a ids ttl=100 -> 1 rev=3
			50-51 read -> last=1 rev=3 1:a
			200-201 read -> last=0
			210-211 append b ids ttl=100 -> 1 rev=5
			220-221 read -> last=1 rev=5 1:b`,
		"gone within the deadline's window": `
			0-10 append a ids ttl=100 -> 1 rev=3
			90-108 read -> last=0
			96-109 append b ids ttl=100 -> 1 rev=5`,
		"a little late": `
			0-1 append a ids ttl=100 -> 1 rev=3
			3000-3001 read -> last=1 rev=3 1:a`,
		"renewed": `
			0-1 append a ids ttl=100 -> 1 rev=3
			90-91 append b ids ttl=100 -> 2 rev=4
			180-181 read -> last=2 rev=4 1:a 2:b`,
		"a retry after the end hears of the original": `
			0-1 append a ids ttl=100 -> ?
			300-301 read -> last=0
			400-401 append a ids ttl=100 -> 1 dup
			402-403 read -> last=0`,
		"an unknown append takes place late, and renews": `
			0-1 append a ids ttl=100 -> ?
			900-901 read -> last=0
			5000-5001 read -> last=1 rev=3 1:a
			5090-5091 read -> last=1 rev=3 1:a`,
		"a condition on a session that is gone": `
			0-1 append a ids ttl=100 -> 1 rev=3
			200-201 append b ids expect=3 ttl=100 -> fail CONFLICT rev=0
			210-211 append b ids expect=0 ttl=100 -> 1 rev=7`,
	} {
		if v := judge(t, text+gone); !v.Passed() {
			t.Errorf("%s: %v %v", name, v.Violations, v.Undecided)
		}
	}
}

func TestBadExpiringHistories(t *testing.T) {
	for name, text := range map[string]string{
		"doubled": "0-1 append a ids ttl=900 -> ?\n 2-3 append a ids ttl=900 -> 1 rev=3\n 4-5 " +
			"read -> last=2 rev=4 1:a 2:a",
		"doubled by a retry": "0-1 append a ids ttl=900 -> 1 rev=3\n 2-3 append a ids ttl=900 -> 2 rev=4",
		"doubled after the end": "0-1 append a ids ttl=100 -> 1 rev=3\n 300-301 read -> last=0\n 310-311 " +
			"append a ids ttl=100 -> 1 rev=5",
		"reordered": "0-1 append a ids ttl=900 -> 1 rev=3\n 2-3 append b ids ttl=900 -> 2 rev=4\n " +
			"4-5 read -> last=2 rev=4 1:b 2:a",
		"torn":              "0-1 append a,b ids ttl=900 -> ?\n 4-5 read -> last=1 rev=3 1:a",
		"refused but there": "0-1 append a ids ttl=900 -> fail UNAVAILABLE\n 4-5 read -> last=1 rev=3 1:a",
		"a condition ignored": "0-1 append a ids ttl=900 -> 1 rev=3\n 2-3 append b ids ttl=900 -> 2 rev=4\n " +
			"4-5 append c ids expect=3 ttl=900 -> 3 rev=5",
		"a false conflict": "0-1 append a ids ttl=900 -> 1 rev=3\n 4-5 append c ids expect=3 ttl=900 -> " +
			"fail CONFLICT rev=9",
		"gone and back": "0-1 append a ids ttl=100 -> 1 rev=3\n 200-201 read -> last=0\n 300-301 read " +
			"-> last=1 rev=3 1:a",
		"gone and back by an append": "0-1 append a ids ttl=100 -> 1 rev=3\n 200-201 read -> last=0\n 300-301 " +
			"append b ids ttl=100 -> 2 rev=4",
		"one of its messages is gone": "0-1 append a ids ttl=900 -> 1 rev=3\n 2-3 append b ids ttl=900 -> 2 rev=4\n " +
			"4-5 read -> last=2 rev=4 2:b",
		"shown long after":       "0-1 append a ids ttl=100 -> 1 rev=3\n 6000-6001 read -> last=1 rev=3 1:a",
		"appended to long after": "0-1 append a ids ttl=100 -> 1 rev=3\n 6000-6001 append b ids ttl=100 -> 2 rev=4",
		"its seqs go on":         "0-1 append a ids ttl=100 -> 1 rev=3\n 6000-6001 read -> last=1",
		"a node shows it":        "0-1 append a ids ttl=100 -> 1 rev=3\n 20000-20001 final stale -> last=1 1:a",
		"a node numbers on":      "0-1 append a ids ttl=100 -> 1 rev=3\n 20000-20001 final stale -> last=1",
		"two values at one seq": "0-1 append a ids ttl=100 -> ?\n 0-1 append b ids ttl=100 -> ?\n 4-5 read -> " +
			"last=1 inc=4 1:a\n 6-7 read stale -> last=1 inc=4 1:b",
	} {
		if v := judge(t, text+gone); len(v.Violations) == 0 {
			t.Errorf("%s: accepted (undecided: %v)", name, v.Undecided)
		}
	}
}

// mortalStore is the obvious session with a deadline, on a clock.
func simulateExpiring(r *rand.Rand, calls int) (ops []*history.Operation) {
	s, deadline, revision, now := newState(), int64(0), uint64(1), int64(0)
	for i := range calls {
		invoke := now
		effect := invoke + r.Int64N(5e6)
		if s.exists && effect >= deadline {
			s = (&state{known: s.known, revision: s.revision, exact: true}).sealed()
		}
		c := history.Call{Func: history.Read}
		if r.IntN(2) == 0 {
			c = history.Call{Func: history.Append, Values: []string{string(rune('a' + i))}, IDs: true, TTL: 20}
			if i > 3 && r.IntN(5) == 0 {
				for _, before := range ops { // the same again
					if before.Call.Func == history.Append {
						c.Values = before.Call.Values
					}
				}
			}
		}
		next, want := s.apply(&c)
		if want.changed {
			revision += 1 + r.Uint64N(3)
			next, deadline = next.withRevision(s, revision), effect+c.TTL*1e6
		}
		s = next
		op := &history.Operation{ID: int64(i + 1), Process: i, Node: "n1", Session: "0/s", Call: c, Invoke: invoke,
			Outcome: history.OK, Result: want.Result}
		op.Return = effect + r.Int64N(5e6)
		if s.exists && !want.Duplicate {
			op.Result.Revision = s.revision
		}
		if c.Func == history.Append && r.IntN(6) == 0 {
			op.Outcome, op.Return, op.Result = history.Info, history.Forever, history.Result{}
		}
		ops = append(ops, op)
		now = effect + r.Int64N(8e6)
		if r.IntN(8) == 0 {
			now += 30e6
		}
	}
	return ops
}

// Histories of a store that does as it should pass, whatever their overlaps; with
// one answer changed they mostly do not.
func TestSimulatedExpiry(t *testing.T) {
	caught := 0
	const rounds = 300
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 1))
		ops := simulateExpiring(r, 14)
		s := &session{name: "0/s", ops: ops, out: &Verdict{}}
		s.searchExpiring(10*time.Second, 0)
		if !s.out.Passed() {
			t.Fatalf("seed %d: %v %v\n%s", seed, s.out.Violations, s.out.Undecided, lines(ops))
		}
		reads := slices.DeleteFunc(slices.Clone(ops), func(op *history.Operation) bool {
			return op.Call.Func != history.Read || len(op.Result.Messages) == 0
		})
		if len(reads) == 0 {
			continue
		}
		spoilt := reads[r.IntN(len(reads))]
		spoilt.Result.Messages = spoilt.Result.Messages[1:]
		s = &session{name: "0/s", ops: ops, out: &Verdict{}}
		s.searchExpiring(10*time.Second, 0)
		if len(s.out.Violations) == 0 {
			t.Fatalf("seed %d: a read without its first message passes\n%s", seed, lines(ops))
		}
		caught++
	}
	t.Logf("%d of %d histories were spoilt, and caught", caught, rounds)
}

func lines(ops []*history.Operation) string {
	var b strings.Builder
	for _, op := range ops {
		b.WriteString(describeCall(op) + "\n")
	}
	return b.String()
}

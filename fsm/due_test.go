package fsm

import (
	"fmt"
	"math"
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/keyspace"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// A deadline that no number holds is the latest there is.
func TestDeadlinesDoNotOverflow(t *testing.T) {
	r := newRig(t)
	const now = 1 << 41
	key := func(name string) turn.Key { return turn.Key{Namespace: "0", Name: name} }
	message := []turn.NewMessage{{Data: []byte("x")}}
	for _, name := range []string{"expired", "slid", "at"} {
		r.apply(now, &turn.Append{Key: key(name), Messages: message})
	}
	for i, out := range r.apply(now,
		&turn.Append{Key: key("appended"), Messages: message, TTL: math.MaxInt64},
		&turn.Expire{Key: key("expired"), HasTTL: true, TTL: math.MaxInt64},
		&turn.Expire{Key: key("slid"), HasTTL: true, TTL: turn.MaxTTL, Slide: true},
		&turn.SetString{Key: key("string"), Value: []byte("x"), TTL: math.MaxInt64},
		&turn.Expire{Key: key("at"), HasAt: true, At: math.MaxInt64},
	) {
		if out.Err != nil {
			t.Fatalf("operation %d: %v", i, out.Err)
		}
	}
	// The clock has come so far that the sliding time overflows, which was longest.
	r.apply(now+1<<42, &turn.Append{Key: key("slid"), Messages: message})
	r.flush()
	r.restart()
	r.apply(now + 1<<43)
	for _, name := range []string{"appended", "expired", "slid", "string", "at"} {
		s := r.query(&turn.Info{Key: key(name)}).Session
		if s == nil || s.ExpiresAt != math.MaxInt64 {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// Times before the beginning are in the past, like others.
func TestNegativeTTL(t *testing.T) {
	for _, op := range []turn.Expire{{HasTTL: true, TTL: math.MinInt64}, {HasTTL: true},
		{HasAt: true, At: math.MinInt64}, {HasAt: true}} {
		r := newRig(t)
		op.Key = turn.Key{Namespace: "0", Name: "k"}
		r.apply(1<<41, &turn.Append{Key: op.Key, Messages: []turn.NewMessage{{Data: []byte("x")}}})
		if out := r.apply(1<<41, &op); out[0].Err != nil || out[0].Result.Removed != 1 {
			t.Errorf("%+v: %+v, %v", op, out[0].Result, out[0].Err)
		}
		if s := r.query(&turn.Info{Key: op.Key}).Session; s != nil {
			t.Errorf("%+v: %+v is left", op, s)
		}
	}
}

// A deadline is dealt with when it comes, though it was set sooner or later than before; then nothing
// is due any more, and no entry of the log is spent on it.
func TestDeadlinesThatMove(t *testing.T) {
	const t0 = 1 << 41
	for _, flushed := range []bool{false, true} {
		r := newRig(t)
		due := func(what string, want int64) {
			t.Helper()
			if flushed {
				r.flush()
				r.restart()
			}
			if got := r.m.NextDue(); got != want {
				t.Errorf("%s, flushed: %v: due in %d ms, want %d", what, flushed, got-t0, want-t0)
			}
		}
		there := func(want uint64) {
			t.Helper()
			if got := r.query(&turn.Count{Namespace: "0"}).Count; got != want {
				t.Errorf("flushed: %v: %d keys, want %d", flushed, got, want)
			}
		}
		in := func(ms int64) turn.Op { return &turn.Expire{Key: sessionA, HasTTL: true, TTL: ms} }
		r.apply(t0, appendOf(sessionA, "", "x"), in(100_000))
		r.apply(t0, in(10_000))
		due("sooner", t0+10_000)
		r.apply(t0 + 9_999)
		there(1)
		r.apply(t0 + 10_000)
		there(0)
		due("the former deadline", t0+100_000)
		r.apply(t0+20_000, appendOf(sessionA, "", "y"), in(30_000))
		r.apply(t0+20_000, in(70_000))
		due("later", t0+50_000)
		r.apply(t0 + 50_000)
		there(1)
		due("put off", t0+90_000)
		r.apply(t0+50_000, &turn.Expire{Key: sessionA})
		r.apply(t0 + 90_000)
		there(1)
		due("without a deadline", t0+100_000)
		r.apply(t0 + 100_000)
		there(1)
		due("nothing", 0)
	}
}

// An entry of the due index from a former session's deadline leaves the present one's as it is.
func TestFormerDeadlineChangesNothing(t *testing.T) {
	const t0 = 1 << 41
	r := newRig(t)
	in := func(ms int64) turn.Op { return &turn.Expire{Key: sessionA, HasTTL: true, TTL: ms} }
	r.apply(t0, appendOf(sessionA, "", "x"), in(30), &turn.Delete{Keys: []turn.Key{sessionA}},
		appendOf(sessionA, "", "y"), in(50), &turn.Expire{Key: sessionA})
	r.flush()
	r.apply(t0 + 30)
	h, err := r.m.keys.Head(layout.JoinKey(sessionA))
	r.m.keys.EndReading()
	if err != nil || h == nil || h.Scheduled != t0+50 {
		t.Errorf("scheduled: %+v, %v", h, err)
	}
}

// The time to live of one append does not end the sliding deadline.
func TestTTLOfAnAppendKeepsTheSlide(t *testing.T) {
	const t0 = 1 << 41
	r := newRig(t)
	r.apply(t0, appendOf(sessionA, "", "x"), &turn.Expire{Key: sessionA, HasTTL: true, TTL: 1000, Slide: true})
	once := appendOf(sessionA, "", "y")
	once.TTL = 5000
	for _, c := range []struct {
		at   int64
		op   turn.Op
		want int64
	}{{t0, once, t0 + 5000}, {t0 + 100, appendOf(sessionA, "", "z"), t0 + 1100}} {
		r.apply(c.at, c.op)
		if s := r.query(&turn.Info{Key: sessionA}).Session; s == nil || s.ExpiresAt != c.want {
			t.Errorf("after %d ms: %+v, want it to expire after %d ms", c.at-t0, s, c.want-t0)
		}
	}
}

// Keys whose time has come are not seen any more, though an entry deletes only some of them.
func TestExpiredKeysAreUnseenBeforeTheyAreDeleted(t *testing.T) {
	const t0, each = 1 << 41, keyspace.DueChunk
	key := func(kind string, i int) turn.Key { return turn.Key{Namespace: "0", Name: fmt.Sprint(kind, i)} }
	for _, flushed := range []bool{false, true} {
		r := newRig(t)
		var ops []turn.Op
		for i := range each {
			ops = append(ops, appendOf(key("a", i), "", "x"), &turn.Expire{Key: key("a", i), HasTTL: true, TTL: 1000},
				&turn.SetString{Key: key("b", i), Value: []byte("x"), TTL: 1000},
				setOf(key("c", i), "x"), &turn.Expire{Key: key("c", i), HasTTL: true, TTL: 1000})
		}
		r.apply(t0, ops...)
		if flushed {
			r.flush()
		}
		seen := func(ask func(q turn.Query) turn.Result) (n int) {
			for i := range each {
				for _, q := range []turn.Query{&turn.Read{Key: key("a", i)}, &turn.Info{Key: key("b", i)},
					&turn.GetString{Key: key("b", i)}, &turn.AllFields{Key: key("c", i), Type: turn.TypeSet}} {
					res := ask(q)
					if res.Session != nil || res.Found || len(res.Messages)+len(res.Elements)+len(res.Value) > 0 {
						n++
					}
				}
			}
			return n
		}
		if n := seen(r.query); n != 4*each {
			t.Fatalf("flushed: %v: %d answers before the deadline, want %d", flushed, n, 4*each)
		}
		r.apply(t0 + 1000)
		if due := r.m.NextDue(); due != t0+1000 {
			t.Errorf("due in %d ms; others are left", due-t0)
		}
		if n := seen(r.query); n != 0 {
			t.Errorf("flushed: %v: %d answers of what has expired", flushed, n)
		}
		listed := len(r.query(&turn.Sessions{Namespace: "0", Limit: 10_000, List: true}).Sessions)
		within := r.apply(t0+1000, &turn.Tx{Steps: []turn.Step{
			{Query: &turn.AllFields{Key: key("c", each-1), Type: turn.TypeSet}},
			{Query: &turn.Read{Key: key("a", each-1)}}, {Query: &turn.GetString{Key: key("b", each-1)}},
		}})[0].Result.Steps
		if listed != 0 || len(within[0].Result.Elements) > 0 || within[1].Result.Session != nil ||
			within[2].Result.Found {
			t.Errorf("flushed: %v: %d keys are listed; in a transaction: %+v", flushed, listed, within)
		}
		for r.m.NextDue() != 0 {
			r.apply(t0 + 1000)
		}
	}
}

package fsm

import (
	"math"
	"testing"

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

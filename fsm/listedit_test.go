package fsm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// listOf makes a list of n numbered elements, with ids.
func (r *rig) listOf(n int) {
	r.t.Helper()
	for at := 0; at < n; {
		var ms []turn.NewMessage
		for ; at < n && len(ms) < 1000; at++ {
			ms = append(ms, turn.NewMessage{ID: fmt.Sprint("id", at), Data: []byte(fmt.Sprint(at))})
		}
		if out := r.apply(1, &turn.Append{Key: sessionA, Messages: ms}); out[0].Err != nil {
			r.t.Fatal(out[0].Err)
		}
	}
}

func (r *rig) elements(start, stop int64) string {
	r.t.Helper()
	var words []string
	for _, m := range r.query(&turn.List{Key: sessionA, Start: start, Stop: stop}).Messages {
		words = append(words, string(m.Data))
	}
	return strings.Join(words, " ")
}

// What an edit moves is still known by its ids, under the number that it was appended with.
func TestEditedListKnowsIDs(t *testing.T) {
	for _, flush := range []bool{false, true} {
		t.Run(fmt.Sprint("flush=", flush), func(t *testing.T) {
			r := newRig(t)
			r.listOf(9)
			if flush {
				r.flush()
			}
			r.apply(2, &turn.InsertElement{Key: sessionA, Pivot: []byte("6"), After: true, Data: []byte("x")})
			if flush {
				r.flush()
				r.restart()
			}
			if got, want := r.elements(0, -1), "0 1 2 3 4 5 6 x 7 8"; got != want {
				t.Fatalf("list is %s, want %s", got, want)
			}
			for i := range 9 {
				out := r.apply(3, appendOf(sessionA, fmt.Sprint("id", i), fmt.Sprint(i)))[0]
				if !out.Result.Duplicate || out.Result.First != uint64(i+1) {
					t.Errorf("element %d again: %+v, %v; want it known as message %d", i, out.Result, out.Err, i+1)
				}
			}
		})
	}
}

// An edit that would move too much changes nothing; close to an end it may be
// made in a list of any length.
func TestEditIsBounded(t *testing.T) {
	r := newRig(t)
	n := 2*turn.DefaultLimits().ForkMessages + 3
	r.listOf(n)
	r.flush()
	before := r.query(&turn.Info{Key: sessionA}).Session
	insertBefore := func(i int) Outcome {
		return r.apply(2, &turn.InsertElement{Key: sessionA, Pivot: []byte(fmt.Sprint(i)), Data: []byte("x")})[0]
	}
	out := insertBefore(n / 2)
	if out.Err == nil || out.Err.Kind != turn.TooLarge {
		t.Fatalf("edit in the middle: %+v, %v; want %v", out.Result, out.Err, turn.TooLarge)
	}
	if after := r.query(&turn.Info{Key: sessionA}).Session; after.Revision != before.Revision ||
		after.Count != before.Count {
		t.Fatalf("the refused edit left %+v, was %+v", after, before)
	}
	for _, i := range []int{2, n - 1} {
		if out := insertBefore(i); out.Err != nil {
			t.Fatal(out.Err)
		}
	}
	ends := func() string { return r.elements(0, 3) + " … " + r.elements(-3, -1) }
	if got, want := ends(), fmt.Sprintf("0 1 x 2 … %d x %d", n-2, n-1); got != want {
		t.Fatalf("list is %s, want %s", got, want)
	}
	if out := r.apply(2, &turn.RemoveElements{Key: sessionA, Data: []byte("x")})[0]; out.Result.Removed != 2 {
		t.Fatalf("%d elements removed, want 2", out.Result.Removed)
	}
	if got, want := ends(), fmt.Sprintf("0 1 2 3 … %d %d %d", n-3, n-2, n-1); got != want {
		t.Fatalf("list is %s, want %s", got, want)
	}
}

// A range that is too long for one answer is refused, not cut.
func TestListIsNeverCut(t *testing.T) {
	r := newRig(t)
	r.m.cfg.ReadBytes = 8
	r.listOf(30)
	if got, err := r.m.Query(&turn.List{Key: sessionA, Start: 8, Stop: -1}); turn.KindOf(err) != turn.TooLarge {
		t.Fatalf("%d messages, %v; want %v", len(got.Messages), err, turn.TooLarge)
	}
	if got := r.elements(8, 12); got != "8 9 10 11 12" {
		t.Fatalf("elements are %s", got)
	}
}

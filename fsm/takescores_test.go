package fsm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// longMembers makes a sorted set of n members with names of 32,000 bytes, scored from 0.
func (r *rig) longMembers(k turn.Key, n int) {
	r.t.Helper()
	for i := 0; i < n; {
		op := &turn.SetScores{Key: k}
		for range min(100, n-i) {
			name := fmt.Sprintf("%06d%s", i, strings.Repeat("m", turn.MaxNameBytes-6))
			op.Members = append(op.Members, turn.Score{Member: name, Score: float64(i)})
			i++
		}
		if out := r.apply(1, op); out[0].Err != nil {
			r.t.Fatal(out[0].Err)
		}
	}
	r.flush()
}

// The members of a range are read before the first of them goes. So a range is bounded, and
// what exceeds the bound stays as it was.
func TestRangesOfScoresAreRemovedWholeOrNot(t *testing.T) {
	r := newRig(t)
	k := turn.Key{Namespace: "0", Name: "z"}
	r.longMembers(k, 1100)
	all := &turn.RemoveScores{Of: turn.Scores{Key: k, Stop: -1}, Answer: true}
	if out := r.apply(1, all)[0]; out.Err == nil || out.Err.Kind != turn.TooLarge {
		t.Fatalf("removal of 35 MB: %v", out.Err)
	}
	if n := r.query(&turn.Info{Key: k}).Session.Count; n != 1100 {
		t.Fatalf("%d members are left after a removal that was refused", n)
	}
	part := &turn.RemoveScores{Of: turn.Scores{Key: k, Stop: 999}}
	out := r.apply(1, part)[0]
	if out.Err != nil || out.Result.Removed != 1000 || out.Result.Count != 100 {
		t.Fatalf("removal of 32 MB: %v, %d removed, %d left", out.Err, out.Result.Removed, out.Result.Count)
	}
	if left := r.query(&turn.Scores{Key: k, Stop: -1}).Elements; len(left) != 100 || left[0].Score != 1000 {
		t.Fatalf("%d members are left", len(left))
	}
}

// However many removals one entry has, what they read together is bounded.
func TestRemovalsOfScoresBounded(t *testing.T) {
	r := newRig(t)
	k := turn.Key{Namespace: "0", Name: "z"}
	r.longMembers(k, 1100)
	var ops []turn.Op
	for range 20 {
		ops = append(ops, &turn.RemoveScores{Of: turn.Scores{Key: k, Stop: -1}})
	}
	got := outcomes(r.apply(2, ops...))
	if got[turn.TooLarge] > 2 || got[turn.Overloaded] != 20-got[turn.TooLarge] {
		t.Fatalf("removals of 35 MB in one entry: %v", got)
	}
	if out := r.apply(3, &turn.RemoveScores{Of: turn.Scores{Key: k, Stop: 9}})[0]; out.Err != nil {
		t.Fatalf("sent again: %v", out.Err)
	}
}

package fsm

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

func setKey(name string) turn.Key { return turn.Key{Namespace: "0", Name: name} }

// setOf makes a set of n members, each of size bytes.
func (r *rig) setOf(k turn.Key, n, size int) {
	r.t.Helper()
	for i := 0; i < n; {
		op := &turn.SetFields{Key: k, Type: turn.TypeSet}
		for range min(100, n-i) {
			op.Fields = append(op.Fields, turn.Field{Name: fmt.Sprintf("%06d%s", i, strings.Repeat("m", size-6))})
			i++
		}
		if out := r.apply(1, op); out[0].Err != nil {
			r.t.Fatal(out[0].Err)
		}
	}
	r.flush()
}

// What is stored of a combination is whole, or refused: the key that it was to replace stays as it was.
func TestCombinationsAreStoredWholeOrNot(t *testing.T) {
	r := newRig(t)
	a, b, to := setKey("a"), setKey("b"), setKey("to")
	r.setOf(a, 1100, turn.MaxNameBytes)
	r.setOf(b, 1000, turn.MaxNameBytes)
	r.setOf(to, 5, 10)
	union := &turn.StoreSets{To: to, Of: turn.CombineSets{Keys: []turn.Key{a, b}, By: turn.Union}}
	if out := r.apply(1, union)[0]; out.Err == nil || out.Err.Kind != turn.TooLarge {
		t.Fatalf("a union of 35 MB: %v", out.Err)
	}
	if n := r.query(&turn.Info{Key: to}).Session.Count; n != 5 {
		t.Fatalf("%d members are there after a union that was refused", n)
	}
	both := &turn.StoreSets{To: to, Of: turn.CombineSets{Keys: []turn.Key{a, b}}}
	if out := r.apply(1, both)[0]; out.Err != nil || out.Result.Count != 1000 {
		t.Fatalf("an intersection of 32 MB: %v, %d members", out.Err, out.Result.Count)
	}
	both.To = a // which is one of the sets
	both.Of.Keys = []turn.Key{a, to}
	if out := r.apply(1, both)[0]; out.Err != nil || out.Result.Count != 1000 {
		t.Fatalf("an intersection in place of one of the sets: %v, %d members", out.Err, out.Result.Count)
	}
}

// A combination may look at many members without having any: that is bounded, too, in entries and in queries.
func TestCombinationsThatLookAtMuch(t *testing.T) {
	r := newRig(t)
	a, empty := setKey("a"), setKey("empty")
	r.setOf(a, 2000, 6)
	q := turn.CombineSets{By: turn.Intersection}
	for len(q.Keys) < 999 {
		q.Keys = append(q.Keys, a)
	}
	var ops []turn.Op
	for range 20 {
		ops = append(ops, &turn.StoreSets{To: empty, Of: q})
	}
	got := outcomes(r.apply(2, ops...))
	if got[turn.TooLarge] > 2 || got[turn.Overloaded] != 20-got[turn.TooLarge] {
		t.Errorf("combinations that look at 2,000,000 members, in one entry: %v", got)
	}
	if _, err := r.m.Query(&q); turn.KindOf(err) != turn.TooLarge {
		t.Errorf("a query that looks at 2,000,000 members: %v", err)
	}
	q.Keys = q.Keys[:400]
	if n := r.query(&q); len(n.Elements) != 2000 {
		t.Errorf("an intersection of 400 sets has %d members", len(n.Elements))
	}
	if out := r.apply(3, &turn.StoreSets{To: empty, Of: q})[0]; out.Err != nil {
		t.Errorf("sent in an entry of its own: %v", out.Err)
	}
}

// What combinations look at is taken off the allowance of the entry whose transaction asks for them.
func TestCombinationsInTransactionsBounded(t *testing.T) {
	r := newRig(t)
	a := setKey("a")
	r.setOf(a, 2000, 6)
	keys := slices.Concat([]turn.Key{a}, slices.Repeat([]turn.Key{setKey("other")}, 399))
	q := &turn.CombineSets{By: turn.Difference, Keys: keys, OnlyCount: true}
	r.setOf(setKey("other"), 1, 9)
	tx := new(turn.Tx)
	for range 20 {
		tx.Steps = append(tx.Steps, turn.Step{Query: q})
	}
	done := 0
	for _, out := range r.apply(2, tx)[0].Result.Steps {
		if out.Err == nil {
			done++
		}
	}
	if done == 0 || done > 3 {
		t.Errorf("%d of 20 queries that look at 800,000 members each are answered in one entry", done)
	}
}

// Strings together have no more bytes than one answer may.
func TestLookupIsNeverCut(t *testing.T) {
	r := newRig(t)
	q := &turn.Lookup{Strings: true}
	for i := range 9 {
		k := setKey(fmt.Sprint("s", i))
		r.apply(1, &turn.SetString{Key: k, Value: make([]byte, 8<<20)})
		q.Keys = append(q.Keys, k)
		if i%2 == 0 {
			r.flush()
		}
	}
	if _, err := r.m.Query(q); turn.KindOf(err) != turn.TooLarge {
		t.Errorf("72 MiB of strings: %v", err)
	}
	q.Keys = q.Keys[:8]
	if got := r.query(q); len(got.Elements) != 8 || len(got.Elements[7].Value) != 8<<20 {
		t.Errorf("%d strings", len(got.Elements))
	}
}

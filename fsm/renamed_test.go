package fsm

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/cost"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// A session that is renamed knows the oldest id that it knew, and no older one.
func TestRenamedKnowsAsManyIDs(t *testing.T) {
	r := newRig(t)
	r.raise(turn.Level3)
	push := func(name string, i int) turn.Op {
		id := fmt.Sprint("id", i)
		return &turn.Append{Key: named(name), Messages: []turn.NewMessage{{ID: id, Data: []byte(id)}}}
	}
	var ops []turn.Op
	for i := range turn.IDWindow + 1 {
		ops = append(ops, push("a", i))
	}
	r.apply(1, ops...)
	r.do(&turn.Trim{Key: sessionA, By: turn.KeepLast, N: 1})
	r.do(renameTo("a", "b"))
	for i, want := range []bool{false, true} {
		if got := r.query(&turn.Info{Key: named("b")}); got.Session.Count != 1 {
			t.Fatalf("%+v", got.Session)
		}
		if again := r.apply(1, push("b", 1-i))[0].Result; again.Duplicate == want {
			t.Errorf("id %d: %+v", 1-i, again)
		}
	}
}

// Each append to a renamed session renews its deadline if it did before.
func TestRenamedSlides(t *testing.T) {
	r := newRig(t)
	r.raise(turn.Level3)
	more := func(name string) turn.Op { return &turn.Append{Key: named(name), Messages: payload("more")} }
	r.apply(100, more("a"), &turn.Expire{Key: sessionA, HasTTL: true, TTL: 1000, Slide: true})
	r.apply(200, renameTo("a", "b"))
	if is := r.query(&turn.Info{Key: named("b")}).Session; is.ExpiresAt != 1100 || is.Slide != 1000 {
		t.Errorf("renamed: %+v", is)
	}
	r.apply(600, more("b"))
	if is := r.query(&turn.Info{Key: named("b")}).Session; is.ExpiresAt != 1600 {
		t.Errorf("appended to: %+v", is)
	}
}

// What a renaming costs for ids of removed messages is what those that are remembered take with their digests,
// wherever the state is.
func TestRenamedIDsAreCharged(t *testing.T) {
	push := func(id string) turn.Op {
		return &turn.Append{Key: sessionA, Messages: []turn.NewMessage{{ID: id, Data: []byte("payload of " + id)}}}
	}
	pop := &turn.Pop{Key: sessionA, From: turn.Head, Count: 3}
	var many []turn.Op
	for i := range turn.IDWindow {
		many = append(many, push(fmt.Sprint("id", 1000+i)))
	}
	tombstone := cost.Message + len("popped") + layout.DigestSize
	for name, c := range map[string]struct {
		ops  []turn.Op
		want int
	}{
		"some without ids": {[]turn.Op{push(""), push("popped"), push(""), pop}, tombstone},
		"moved, then removed": {[]turn.Op{push("popped"), push("p"), insertBeside("payload of p", false, "new"), pop},
			2*tombstone - len("opped")},
		"forgotten": {append([]turn.Op{push("older"), push("older too")}, append(many, &turn.Trim{Key: sessionA,
			By: turn.KeepLast, N: 0})...), (turn.IDWindow - 1) * tombstone},
	} {
		for how, settled := range settlings {
			r := newRig(t)
			r.raise(turn.Level3)
			r.apply(1, c.ops...)
			r.do(push("stays"))
			settled(r)
			r.do(renameTo("a", "b"))
			spent := cost.EntryAllowance() - r.m.keys.Allowance.Left
			if want := cost.Message + len("stays"+"payload of stays") + c.want; spent != want {
				t.Errorf("%s, in %s: %d bytes, want %d", name, how, spent, want)
			}
		}
	}
}

// An append that comes again to a renamed session has the result that it would have had before, also where its
// message was moved in the list.
func TestRenamedRepeatsAsBefore(t *testing.T) {
	push := func(name, id string) turn.Op {
		return &turn.Append{Key: named(name), Messages: []turn.NewMessage{{ID: id, Data: []byte(id)}}}
	}
	ids := []string{"x", "y", "z"}
	for how, settled := range settlings {
		r := newRig(t)
		r.raise(turn.Level3)
		for _, id := range ids {
			r.do(push("a", id))
		}
		r.do(insertBeside("y", false, "new"))
		settled(r)
		var before []turn.Result
		for _, id := range ids {
			before = append(before, r.do(push("a", id)))
		}
		r.do(renameTo("a", "b"))
		settled(r)
		for i, id := range ids {
			got := r.do(push("b", id))
			before[i].Index = got.Index
			if !reflect.DeepEqual(got, before[i]) || !got.Duplicate {
				t.Errorf("in %s: %s again: %+v, before the renaming %+v", how, id, got, before[i])
			}
		}
	}
}

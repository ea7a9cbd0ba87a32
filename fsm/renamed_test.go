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
		for _, level := range []turn.ClusterLevel{turn.Level3, turn.Level4} {
			for how, settled := range settlings {
				r := newRig(t)
				r.raise(level)
				r.apply(1, c.ops...)
				r.do(push("stays"))
				settled(r)
				r.do(renameTo("a", "b"))
				spent := cost.EntryAllowance() - r.m.keys.Allowance.Left
				if want := cost.Message + len("stays"+"payload of stays") + c.want; spent != want {
					t.Errorf("level %d, %s, in %s: %d bytes, want %d", level, name, how, spent, want)
				}
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

// Since the fourth level, a session that is as large as any that may be renamed is renamed with what it remembers;
// below, it is refused for that. Other operations of the entry pay for it.
func TestRenameOfTheLargestSessionThatRemembers(t *testing.T) {
	limits := turn.DefaultLimits()
	large := make([]byte, limits.ForkBytes/8)
	id := func(i int) string { return fmt.Sprintf("%0*d", limits.IDBytes, i) }
	for _, level := range []turn.ClusterLevel{turn.Level3, turn.Level4} {
		r := newRig(t)
		r.raise(level)
		for i := 0; i < limits.ForkMessages; {
			o := &turn.Append{Key: sessionA}
			for range min(limits.AppendMessages, limits.ForkMessages-i) {
				o.Messages = append(o.Messages, turn.NewMessage{ID: id(i)})
				if i < 8 {
					o.Messages[i].Data = large
				}
				i++
			}
			r.do(o)
		}
		gone := turn.NewMessage{ID: "gone", Data: []byte("x")}
		r.do(&turn.Append{Key: sessionA, Messages: []turn.NewMessage{gone}})
		r.do(&turn.Pop{Key: sessionA, From: turn.Newest, Count: 1})
		r.add(named("small"), "x")
		r.do(&turn.Pop{Key: named("small"), From: turn.Newest, Count: 1})
		r.add(named("small"), "y")
		outs := r.apply(1, renameTo("a", "b"), renameTo("small", "c"))
		if level == turn.Level3 {
			if outs[0].Err == nil || outs[0].Err.Kind != turn.TooLarge {
				t.Errorf("at level 3: %v", outs[0].Err)
			}
			continue
		}
		if outs[0].Err != nil || outs[0].Result.Count != uint64(limits.ForkMessages) {
			t.Fatalf("at level 4: %+v, %v", outs[0].Result, outs[0].Err)
		}
		if outs[1].Err == nil || outs[1].Err.Kind != turn.Overloaded {
			t.Errorf("another in the same entry: %v", outs[1].Err)
		}
		if out := r.apply(1, &turn.Append{Key: named("b"), Messages: []turn.NewMessage{gone}})[0]; out.Err != nil ||
			!out.Result.Duplicate {
			t.Errorf("what it remembers is appended again: %+v, %v", out.Result, out.Err)
		}
	}
}

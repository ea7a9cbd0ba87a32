package fsm

import (
	"fmt"
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/cost"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// pushTo returns a push of messages whose payloads are their ids.
func pushTo(name string, ids ...string) turn.Op {
	o := &turn.PushOnce{Key: named(name)}
	for _, id := range ids {
		o.Messages = append(o.Messages, turn.NewMessage{ID: id, Data: []byte(id)})
	}
	return o
}

func renameTo(from, to string) turn.Op {
	return &turn.Rename{Key: named(from), To: named(to), Replace: true, List: true}
}

// A push that comes again after its key was renamed is a repeat while the renamed list holds what it brought, if it
// is the same push.
func TestPushOnceAcrossARenaming(t *testing.T) {
	pop := func(name string) turn.Op {
		return &turn.Pop{Key: named(name), From: turn.Head, Count: 1, List: true}
	}
	keep := func(name string, n uint64) turn.Op {
		return &turn.Retain{Key: named(name), Keep: turn.Retention{Messages: n}}
	}
	fill := func(name string, from, to int) (ops []turn.Op) {
		for i := from; i < to; i++ {
			ops = append(ops, pushTo(name, fmt.Sprint("fill", i)))
		}
		return ops
	}
	ops := func(ops ...turn.Op) []turn.Op { return ops }
	for name, c := range map[string]struct {
		before []turn.Op
		again  turn.Op
		want   string
	}{
		"held":    {ops(pushTo("a", "x"), renameTo("a", "b")), pushTo("a", "x"), "a 0, a repeat"},
		"several": {ops(pushTo("a", "x", "y"), renameTo("a", "b")), pushTo("a", "x", "y"), "a 0, a repeat"},
		"beside others": {ops(pushTo("a", "x"), renameTo("a", "b"), pushTo("a", "y")), pushTo("a", "x"),
			"a 1, a repeat"},
		"renamed twice": {ops(pushTo("a", "x"), renameTo("a", "b"), renameTo("b", "c")), pushTo("a", "x"),
			"a 0, a repeat"},
		"renamed back": {ops(pushTo("a", "x"), renameTo("a", "b"), renameTo("b", "a")), pushTo("a", "x"),
			"a 1, a repeat"},
		"two lists renamed, one after the other": {ops(pushTo("a", "x"), renameTo("a", "b"), pushTo("a", "y"),
			renameTo("a", "c")), pushTo("a", "x"), "a 0, a repeat"},
		"popped": {ops(pushTo("a", "x"), renameTo("a", "b"), pop("b")), pushTo("a", "x"), "a 1"},
		"replaced": {ops(pushTo("a", "x"), pushTo("c", "z"), renameTo("a", "b"), renameTo("c", "b")), pushTo("a", "x"),
			"a 1"},
		"popped in part": {ops(pushTo("a", "x", "y"), renameTo("a", "b"), pop("b")), pushTo("a", "x", "y"),
			"a 0, CONFLICT"},
		"not that push": {ops(pushTo("a", "x"), pushTo("a", "y"), renameTo("a", "b")), pushTo("a", "x", "y"),
			"a 2"},
		"another order":      {ops(pushTo("a", "x", "y"), renameTo("a", "b")), pushTo("a", "y", "x"), "a 2"},
		"never pushed there": {ops(pushTo("a", "x"), renameTo("a", "b"), pushTo("b", "y")), pushTo("a", "y"), "a 1"},
		"another payload": {ops(&turn.PushOnce{Key: named("a"),
			Messages: []turn.NewMessage{{ID: "x", Data: []byte("X")}}},
			renameTo("a", "b")), pushTo("a", "x"), "a 1"},
		"another list has the name": {ops(pushTo("a", "x"), renameTo("a", "b"),
			&turn.Delete{Keys: []turn.Key{named("b")}}, pushTo("b", "x")), pushTo("a", "x"), "a 1"},
		"moved before": {ops(pushTo("a", "x"), pushTo("a", "y"),
			&turn.InsertElement{Key: named("a"), Pivot: []byte("y"),
				Data: []byte("new")}, renameTo("a", "b")), pushTo("a", "x"), "a 0, a repeat"},
		"moved since": {ops(pushTo("a", "x"), pushTo("a", "y"), renameTo("a", "b"), &turn.InsertElement{Key: named("b"),
			Pivot: []byte("y"), Data: []byte("new")}), pushTo("a", "x"), "a 0, a repeat"},
		"dropped before": {ops(keep("a", 1), pushTo("a", "x"), pushTo("a", "y"), renameTo("a", "b")), pushTo("a", "x"),
			"a 0, a repeat"},
		"dropped, and nothing with an id left": {ops(keep("a", 1), pushTo("a", "x"), &turn.Append{Key: named("a"),
			Messages: payload("plain")}, renameTo("a", "b"), renameTo("b", "c")), pushTo("a", "x"), "a 0, a repeat"},
		"dropped since": {ops(pushTo("a", "x"), pushTo("a", "y"), renameTo("a", "b"), keep("b", 1)), pushTo("a", "x"),
			"a 0, a repeat"},
		"many pushes since": {append(ops(pushTo("a", "x"), renameTo("a", "b")), fill("b", 0, turn.IDWindow+9)...),
			pushTo("a", "x"), "a 0, a repeat"},
		"the list is empty": {ops(keep("a", 1), pushTo("a", "x"), pushTo("a", "y"), pop("a")), pushTo("a", "x"),
			"a 0, a repeat"},
	} {
		for how, settled := range settlings {
			r := newRig(t)
			r.raise(turn.Level2)
			for _, op := range c.before {
				r.do(op)
				if len(c.before) < 100 {
					settled(r)
				}
			}
			settled(r)
			out := r.apply(1, c.again)[0]
			count := uint64(0)
			if s := r.query(&turn.Info{Key: named("a")}).Session; s != nil {
				count = s.Count
			}
			got := fmt.Sprint("a ", count)
			if out.Result.Duplicate {
				got += ", a repeat"
			}
			if out.Err != nil {
				got += ", " + out.Err.Kind.String()
			} else if out.Result.Count != count {
				t.Errorf("%s, in %s: the answer is %d elements", name, how, out.Result.Count)
			}
			if got != c.want {
				t.Errorf("%s, in %s: %s, want %s", name, how, got, c.want)
			}
		}
	}
}

// A renaming is forgotten after a while, as deletions are, and if more of them follow than are looked through.
func TestRenamingsAreForgotten(t *testing.T) {
	r := newRig(t)
	r.raise(turn.Level2)
	r.apply(1000, pushTo("a", "x"), renameTo("a", "b"))
	for i, want := range []bool{true, false} {
		out := r.apply(999+int64(i)+turn.TombstoneTime, pushTo("a", "x"))[0]
		if out.Err != nil || out.Result.Duplicate != want {
			t.Errorf("push %d: %+v, %v", i, out.Result, out.Err)
		}
	}
	r = newRig(t)
	r.raise(turn.Level2)
	r.do(pushTo("0", "x"))
	for i := range 9 {
		r.do(renameTo(fmt.Sprint(i), fmt.Sprint(i+1)))
	}
	for name, want := range map[string]bool{"0": false, "1": true} {
		if got := r.do(pushTo(name, "x")); got.Duplicate != want {
			t.Errorf("renamed since it was %s: a repeat: %t, want %t", name, got.Duplicate, want)
		}
	}
}

// To look for what was renamed costs what it costs to pass keys. From level 3 on, a look at the messages of each
// session that had the push costs something, too.
func TestRenamingsCostALook(t *testing.T) {
	gone := &turn.Pop{Key: named("c"), From: turn.Head, Count: 1, List: true}
	other := &turn.Append{Key: named("c"), Messages: payload("plain"), Side: turn.Tail}
	keys := uint64(2*cost.PassedKey + cost.Passed)
	look := uint64(cost.Look + cost.Passed + layout.DigestSize/cost.PassedBytes)
	for name, c := range map[string]struct {
		level  turn.ClusterLevel
		before []turn.Op
		want   uint64
	}{
		"level 2":           {turn.Level2, nil, keys},
		"held":              {turn.Level3, nil, keys + look},
		"popped since":      {turn.Level3, []turn.Op{other, gone}, keys + look + cost.Look},
		"popped at level 2": {turn.Level2, []turn.Op{other, gone}, keys},
	} {
		r := newRig(t)
		r.raise(c.level)
		for _, op := range append([]turn.Op{pushTo("a", "x"), renameTo("a", "b"), renameTo("b", "c")}, c.before...) {
			r.do(op)
		}
		again := r.do(pushTo("a", "x"))
		spent := uint64(cost.EntryAllowance() - r.m.keys.Allowance.Left)
		if spent != c.want || again.Duplicate != (c.before == nil) {
			t.Errorf("%s: %d bytes, want %d; %+v", name, spent, c.want, again)
		}
	}
}

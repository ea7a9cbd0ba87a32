package fsm

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// A push that is sent again is recognised while its messages are there, wherever
// they are, and is a new push when they have been removed.
func TestPushOnce(t *testing.T) {
	k := turn.Key{Namespace: "0", Name: "s"}
	push := func(texts ...string) turn.Op {
		o := &turn.PushOnce{Key: k, Side: turn.Head}
		for _, text := range texts {
			m := turn.NewMessage{Data: []byte(text)}
			if text[0] != '-' {
				m.ID = text[:1]
			}
			o.Messages = append(o.Messages, m)
		}
		return o
	}
	for _, settled := range []func(*rig){func(*rig) {}, (*rig).flushWarm, (*rig).flush, (*rig).restart,
		func(r *rig) { r.flush(); r.restart() }} {
		r := newRig(t)
		expect := func(op turn.Op, want string) {
			t.Helper()
			out := r.apply(1000, op)[0]
			got := fmt.Sprintf("%d %t", out.Result.Count, out.Result.Duplicate)
			if out.Err != nil {
				got = out.Err.Kind.String()
			}
			if got != want {
				t.Errorf("%+v: %s, want %s", op, got, want)
			}
			settled(r)
		}
		expect(push("a"), "1 false")
		expect(push("b", "c"), "3 false")
		expect(push("a"), "3 true")
		expect(push("b", "c"), "3 true")
		expect(push("c", "b"), "CONFLICT")
		expect(push("a", "b"), "3 true") // they are next to each other
		expect(push("a", "c"), "CONFLICT")
		expect(push("c", "d"), "CONFLICT")
		expect(push("c", "-"), "CONFLICT")
		expect(push("c2"), "ID_REUSED")
		expect(push("-"), "4 false")
		expect(push("-"), "5 false")
		expect(&turn.Pop{Key: k, From: turn.Head, Count: 4, List: true}, "1 false")
		expect(push("a"), "1 true")
		expect(push("c"), "2 false") // it was popped
		expect(push("c"), "2 true")
		expect(&turn.Trim{Key: k, By: turn.ListRange, Start: 0, Stop: 0}, "1 false")
		expect(push("a"), "2 false") // it was trimmed
		expect(&turn.Delete{Keys: []turn.Key{k}, List: true}, "0 false")
		expect(push("c", "a"), "2 false")
		expect(push("c", "a"), "2 true")
		expect(&turn.Append{Key: k, Messages: []turn.NewMessage{{ID: "c", Data: []byte("c")}}}, "2 true")
		expect(&turn.PushOnce{Key: turn.Key{Namespace: "0", Name: "none"}, Messages: []turn.NewMessage{{ID: "x"}},
			OnlyExisting: true}, "0 false")
	}
}

// Moves, pops of several lists and SetNew give the same state, however it is kept.
func TestMovesWhereverTheStateIs(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	key := func() turn.Key { return turn.Key{Namespace: "0", Name: fmt.Sprint("k", rnd.IntN(4))} }
	side := func() turn.Side { return turn.Side(rnd.IntN(2)) }
	a, b := newRig(t), newRig(t)
	for i := range 2000 {
		var op turn.Op
		switch rnd.IntN(6) {
		case 0:
			op = &turn.Append{Key: key(),
				Messages: []turn.NewMessage{{ID: fmt.Sprint(i), Data: fmt.Append(nil, i)}, {Data: []byte("x")}},
				Side:     side()}
		case 1, 2:
			op = &turn.MoveElement{Key: key(), To: key(), From: side(), On: side()}
		case 3:
			op = &turn.PopFirst{Keys: []turn.Key{key(), key()}, From: side(), Count: uint64(1 + rnd.IntN(3))}
		case 4:
			op = &turn.SetNew{Keys: []turn.Key{key(), key()}, Values: [][]byte{[]byte("v"), []byte("w")}}
		default:
			op = &turn.Delete{Keys: []turn.Key{key()}, List: true}
		}
		x, y := a.apply(int64(i), op)[0], b.apply(int64(i), op)[0]
		if fmt.Sprintf("%+v", x) != fmt.Sprintf("%+v", y) {
			t.Fatalf("%d: %+v: %+v and %+v", i, op, x, y)
		}
		switch rnd.IntN(30) {
		case 0:
			b.flush()
		case 1:
			b.flushWarm()
		case 2:
			b.restart()
		}
	}
	if a.hash() != b.hash() {
		t.Error("the states differ")
	}
}

// A pop from the first list that is there takes as many elements as it is asked for, from the end
// that it is asked for, and says which list that was.
func TestPopFirst(t *testing.T) {
	r := newRig(t)
	r.apply(1, appendOf(sessionA, "", "a"), appendOf(sessionA, "", "b"), appendOf(sessionA, "", "c"),
		appendOf(sessionA, "", "d"))
	empty := turn.Key{Namespace: "0", Name: "empty"}
	for i, c := range []struct {
		from  turn.Side
		count uint64
		want  string
	}{{turn.Head, 2, "a b"}, {turn.Tail, 1, "d"}, {turn.Tail, 9, "c"}, {turn.Head, 1, ""}} {
		got := r.apply(int64(2+i), &turn.PopFirst{Keys: []turn.Key{empty, sessionA}, From: c.from, Count: c.count})[0]
		var popped []string
		for _, m := range got.Result.Messages {
			popped = append(popped, string(m.Data))
		}
		if s := strings.Join(popped, " "); got.Err != nil || s != c.want || got.Result.Found != (c.want != "") ||
			got.Result.Found && got.Result.Number != 1 {
			t.Errorf("%d from side %v: %q of list %d, %v", c.count, c.from, s, got.Result.Number, got.Err)
		}
	}
}

package fsm

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/cost"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

// settlings are ways in which a state is kept between two operations.
var settlings = map[string]func(*rig){
	"memory":  func(*rig) {},
	"store":   (*rig).flush,
	"restart": func(r *rig) { r.flush(); r.log = nil; r.restart() },
}

func insertBeside(pivot string, after bool, text string) turn.Op {
	return &turn.InsertElement{Key: sessionA, Pivot: []byte(pivot), After: after, Data: []byte(text)}
}

func moveWithin(from, on turn.Side) turn.Op {
	return &turn.MoveElement{Key: sessionA, To: sessionA, From: from, On: on}
}

func removeElement(text string) turn.Op {
	return &turn.RemoveElements{Key: sessionA, Data: []byte(text)}
}

// A list that was edited, and is shortened since, has no result whose call is gone.
func TestEditedListsKeepCallsWithResults(t *testing.T) {
	call, result := toolCall("1", 0), toolResult("1", 0)
	names := strings.NewReplacer(call, "call", result, "res")
	keep := func(n uint64) turn.Op { return &turn.Retain{Key: sessionA, Keep: turn.Retention{Messages: n}} }
	push := func(side turn.Side, texts ...string) (ops []turn.Op) {
		for _, text := range texts {
			ops = append(ops, &turn.Append{Key: sessionA, Side: side, Messages: payload(text)})
		}
		return ops
	}
	join := func(parts ...[]turn.Op) (ops []turn.Op) {
		for _, part := range parts {
			ops = append(ops, part...)
		}
		return ops
	}
	for name, c := range map[string]struct {
		ops  []turn.Op
		want string
	}{
		"LINSERT moves both to the other side": {join(push(turn.Tail, call, result, "x", "y", "z", "w", "v"),
			[]turn.Op{insertBeside(result, true, "note"), keep(3)}, push(turn.Tail, "n", "n", "n", "n", "n")),
			"call res note v n n n n n"},
		"LINSERT moves both, of a list with the newest first": {join(push(turn.Head, call, result, "x", "y", "z", "w"),
			[]turn.Op{insertBeside(result, false, "note"), keep(2)}, push(turn.Tail, "n")), "w note res call n"},
		"LINSERT moves what came before a call": {join(push(turn.Head, "a"), push(turn.Tail, call),
			[]turn.Op{insertBeside(call, false, "note"), keep(2)}, push(turn.Tail, result)), "a note call res"},
		"LMOVE moves a call that waits": {join([]turn.Op{keep(2)}, push(turn.Tail, call, "x"),
			[]turn.Op{moveWithin(turn.Head, turn.Tail)}, push(turn.Tail, result, "y")), "call res y"},
		"LMOVE moves the only element": {join([]turn.Op{keep(1)}, push(turn.Tail, call),
			[]turn.Op{moveWithin(turn.Head, turn.Tail)}, push(turn.Tail, result)), "call res"},
		"LMOVE moves a call that may wait": {join([]turn.Op{keep(2)}, push(turn.Tail, call, result, call),
			[]turn.Op{removeElement(result), moveWithin(turn.Tail, turn.Head)}, push(turn.Tail, "x", result)),
			"call call x res"},
		"LTRIM takes a call with its result": {join(push(turn.Tail, call, result, "x", "y"),
			[]turn.Op{&turn.Trim{Key: sessionA, By: turn.ListRange, Start: 2, Stop: -1}, keep(2)},
			push(turn.Tail, "n", "m")), "n m"},
		"LTRIM takes them off the other end": {join(push(turn.Head, call, result, "x", "y"),
			[]turn.Op{&turn.Trim{Key: sessionA, By: turn.ListRange, Start: 0, Stop: 1}, keep(2)},
			push(turn.Head, "n", "m")), "m n"},
		"LPOP takes them": {join(push(turn.Tail, call, result, "x", "y"),
			[]turn.Op{&turn.Pop{Key: sessionA, From: turn.Head, Count: 2, List: true}, keep(2)},
			push(turn.Tail, "n", "m")), "n m"},
		"RPOP takes the result": {join(push(turn.Tail, "w", call, result),
			[]turn.Op{&turn.Pop{Key: sessionA, From: turn.Tail, Count: 1, List: true}, keep(1)},
			push(turn.Tail, "n", "m")), "call n m"},
		"LSET replaces the newest result": {join([]turn.Op{keep(1)}, push(turn.Tail, call, result),
			[]turn.Op{&turn.SetElement{Key: sessionA, Index: -1, Data: []byte("x")}}, push(turn.Tail, result)),
			"call x res"},
		"LSET, LREM and LTRIM elsewhere": {join([]turn.Op{keep(3)}, push(turn.Tail, call, "x", "y"),
			[]turn.Op{&turn.SetElement{Key: sessionA, Index: 1, Data: []byte("z")}, removeElement("y"),
				&turn.Trim{Key: sessionA, By: turn.ListRange, Start: 0, Stop: -1}},
			push(turn.Tail, result, "n", "n")), "call z res n n"},
	} {
		for how, settled := range settlings {
			r := newRig(t)
			r.raise(turn.Level2)
			for _, op := range c.ops {
				r.do(op)
				settled(r)
			}
			if got := names.Replace(r.elements(0, -1)); got != c.want {
				t.Errorf("%s, in %s: %s, want %s", name, how, got, c.want)
			}
		}
	}
}

// A push that comes again is a repeat if the retention dropped what it brought, wherever that had been moved, and
// new if a client had removed it.
func TestPushOnceOfAnEditedList(t *testing.T) {
	push := func(ids ...string) turn.Op {
		o := &turn.PushOnce{Key: sessionA}
		for _, id := range ids {
			o.Messages = append(o.Messages, turn.NewMessage{ID: id, Data: []byte(id)})
		}
		return o
	}
	keep := func(n uint64) turn.Op { return &turn.Retain{Key: sessionA, Keep: turn.Retention{Messages: n}} }
	for name, c := range map[string]struct {
		ops    []turn.Op
		known  string
		unseen string
	}{
		"removed from between": {[]turn.Op{push("a", "b", "c", "d"), removeElement("b"), keep(1)}, "acd", "b"},
		"removed, and few are kept": {[]turn.Op{push("a", "b", "c", "d", "e"), removeElement("c"), keep(1)}, "abde",
			"c"},
		"removed, and many are kept": {[]turn.Op{push("a", "b", "c", "d", "e"), removeElement("b"), keep(2)}, "acde",
			"b"},
		"moved": {[]turn.Op{push("a", "b", "c"), insertBeside("b", false, "n"), keep(1), push("d")},
			"abcd", ""},
		"moved, then removed": {[]turn.Op{push("a", "b", "c"), insertBeside("b", false, "n"), removeElement("a"),
			keep(1), push("d")}, "bcd", "a"},
		"removed, and sent again": {[]turn.Op{push("a", "b", "c"), removeElement("b"), push("b"), keep(1), push("d")},
			"abcd", ""},
	} {
		for how, settled := range settlings {
			r := newRig(t)
			r.raise(turn.Level2)
			for _, op := range c.ops {
				r.do(op)
				settled(r)
			}
			for i, id := range c.known + c.unseen {
				got, want := r.do(push(string(id))), i < len(c.known)
				if got.Duplicate != want {
					t.Errorf("%s, in %s: %c again: a repeat: %t, want %t", name, how, id, got.Duplicate, want)
				}
			}
		}
	}
}

// A session of many removed messages remembers no more ranges than it may, and has none of the dropped messages again.
func TestDroppedRangesAreBounded(t *testing.T) {
	r := newRig(t)
	r.raise(turn.Level2)
	const n = 400
	for i := range n {
		r.do(appendOf(sessionA, fmt.Sprint(i), fmt.Sprint(i)))
	}
	for i := 1; i < n; i += 2 {
		r.do(removeElement(fmt.Sprint(i)))
	}
	r.do(&turn.Retain{Key: sessionA, Keep: turn.Retention{Messages: 1}})
	for i := 0; i < n; i += 2 {
		again := &turn.PushOnce{Key: sessionA, Messages: []turn.NewMessage{{ID: fmt.Sprint(i),
			Data: fmt.Append(nil, i)}}}
		if got := r.do(again); !got.Duplicate {
			t.Fatalf("message %d came again", i)
		}
	}
	last := &turn.PushOnce{Key: sessionA, Messages: []turn.NewMessage{{ID: "399", Data: []byte("399")}}}
	if got := r.do(last); got.Duplicate {
		t.Error("a message that a client removed is taken for a repeat")
	}
}

// A payload that moves to another list costs a look for calls only if there may be some.
func TestMovedPayloadsCostTheirScan(t *testing.T) {
	other := turn.Key{Namespace: sessionA.Namespace, Name: "other"}
	spent := func(level turn.ClusterLevel, text string) int {
		r := newRig(t)
		r.raise(level)
		r.add(sessionA, text)
		r.apply(1, appendOf(other, "", toolCall("1", 0)),
			&turn.MoveElement{Key: sessionA, To: other, From: turn.Head, On: turn.Tail})
		return r.m.keys.Allowance.Left
	}
	plain := strings.Repeat("x", 1<<10)
	call := toolCall("2", 1<<10-len(toolCall("2", 0)))
	if a, b := spent(turn.Level2, plain), spent(turn.Level1, plain); a != b {
		t.Errorf("a payload without calls: %d are left, before level 2 %d", a, b)
	}
	if a, b := spent(turn.Level2, call), spent(turn.Level1, call); b-a != len(call) {
		t.Errorf("a payload with a call costs %d more than before level 2, want its length, %d", b-a, len(call))
	}
}

// What a client had removed is known apart from what was dropped, however large that was.
func TestPushOnceOfLargeMessages(t *testing.T) {
	r := newRig(t)
	r.raise(turn.Level2)
	push := func(i int) turn.Op {
		data := append(make([]byte, 3<<20), byte(i))
		return &turn.PushOnce{Key: sessionA, Messages: []turn.NewMessage{{ID: fmt.Sprint(i), Data: data}}}
	}
	for i := range 12 {
		r.do(push(i))
	}
	r.do(&turn.RemoveMessage{Key: sessionA, Message: turn.MessageRef{ID: "1"}})
	if got := r.do(&turn.Retain{Key: sessionA, Keep: turn.Retention{Messages: 6}}); got.Removed != 5 {
		t.Fatalf("%d messages were dropped", got.Removed)
	}
	for i := range 12 {
		if got := r.do(push(i)); got.Duplicate != (i != 1) {
			t.Errorf("message %d again: a repeat: %t", i, got.Duplicate)
		}
	}
}

// What waits for results is counted once of the memory that is to be flushed, however often it changes.
func TestWaitingCallsAreCountedOnce(t *testing.T) {
	const calls = 100
	bytes := func(level turn.ClusterLevel) int {
		r := newRig(t)
		r.raise(level)
		for i := range calls {
			r.add(sessionA, toolCall(fmt.Sprint(i), 0))
		}
		return r.m.keys.Tables.Active.Bytes
	}
	if got, want := bytes(turn.Level2)-bytes(turn.Level1), calls*memtable.CallCost; got != want {
		t.Errorf("%d calls count as %d bytes, want %d", calls, got, want)
	}
}

// To look for turns, or for an id among all messages, costs what is read for it.
func TestSearchesCostTheirPayloads(t *testing.T) {
	const n, size = 5, 1 << 20
	r := newRig(t)
	r.raise(turn.Level2)
	for range n {
		r.add(sessionA, strings.Repeat("x", size))
	}
	for _, op := range []turn.Op{&turn.RemoveMessage{Key: sessionA, Message: turn.MessageRef{ID: "unknown"}},
		&turn.Retain{Key: sessionA, Keep: turn.Retention{Turns: n + 1}}} {
		r.do(op)
		got := cost.EntryAllowance() - r.m.keys.Allowance.Left
		if want := n * (cost.Passed + size/cost.PassedBytes); got != want {
			t.Errorf("%T: %d bytes, want %d", op, got, want)
		}
	}
}

// What was flushed, or is on its way, keeps the turns that it had.
func TestTurnsOfOlderHeadsStay(t *testing.T) {
	for name, op := range map[string]turn.Op{
		"popped":   &turn.Pop{Key: sessionA, From: turn.Newest, Count: 2},
		"inserted": insertBeside("c", false, "new"),
	} {
		r := newRig(t)
		r.raise(turn.Level2)
		r.do(&turn.Retain{Key: sessionA, Keep: turn.Retention{Turns: 8}})
		for _, text := range []string{"a", "b", "c"} {
			r.add(sessionA, text)
		}
		r.flushWarm()
		h, err := r.m.keys.Head(layout.JoinKey(sessionA))
		if err != nil {
			t.Fatal(err)
		}
		was := slices.Clone(h.Turns)
		r.do(op)
		r.add(sessionA, "d")
		if !slices.Equal(h.Turns, was) {
			t.Errorf("%s: %d, were %d", name, h.Turns, was)
		}
	}
}

// Turns that LINSERT has begin at the same message, because those between were removed, are one.
func TestTurnsThatMeetAreOne(t *testing.T) {
	r := newRig(t)
	r.raise(turn.Level2)
	r.do(&turn.Retain{Key: sessionA, Keep: turn.Retention{Turns: 7}})
	for _, text := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		r.add(sessionA, text)
	}
	for _, op := range []turn.Op{removeElement("e"), removeElement("f"), insertBeside("d", false, "new")} {
		r.do(op)
	}
	for _, c := range []struct{ text, want string }{{"h", "a b c new d g h"}, {"i", "a b c new d g h i"},
		{"j", "b c new d g h i j"}} {
		r.add(sessionA, c.text)
		if got := r.elements(0, -1); got != c.want {
			t.Errorf("with %s: %s, want %s", c.text, got, c.want)
		}
	}
}

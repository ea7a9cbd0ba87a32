package fsm

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// texts returns what a session holds, in commit order.
func (r *rig) texts(k turn.Key) string {
	r.t.Helper()
	var all []string
	for _, m := range r.query(&turn.Read{Key: k, Limit: 1000}).Messages {
		all = append(all, fmt.Sprint(m.Seq, m.ID, "=", string(m.Data)))
	}
	return strings.Join(all, " ")
}

// appendSome appends messages with the ids m1, m2 …, one by one.
func (r *rig) appendSome(k turn.Key, n int) {
	r.t.Helper()
	for i := range n {
		r.do(appendOf(k, fmt.Sprint("m", i+1), string(rune('a'+i))))
	}
}

// Steps that name messages, take them out or put others in their place do in a transaction what they do alone, and
// the transaction that is sent again has the same answers, messages included.
func TestTransactionOfStepsOnMessages(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig, move func()) {
		b, c, d := named("b"), named("c"), named("d")
		r.appendSome(sessionA, 4)
		r.appendSome(b, 5)
		r.appendSome(c, 3)
		r.do(&turn.SetMetadata{Key: c, Set: map[string]string{"k": "v"}})
		move()
		tx := all("t",
			&turn.RemoveMessage{Key: sessionA, Message: byID("m2")},
			&turn.EditMessage{Key: sessionA, Message: byID("m3"), Data: []byte("edited")},
			&turn.RemoveMessage{Key: sessionA, Message: byID("none")},
			&turn.Replace{Key: sessionA, From: 4, Messages: []turn.NewMessage{{ID: "r", Data: []byte("r")}}},
			&turn.Pop{Key: b, From: turn.Head, Count: 2}, appendOf(b, "n", "n"),
			&turn.Retain{Key: b, Keep: turn.Retention{Messages: 3}},
			&turn.Rename{Key: c, To: d})
		first := r.do(tx)
		for k, want := range map[turn.Key]string{sessionA: "1m1=a 3m3=edited 5r=r", b: "4m4=d 5m5=e 6n=n", c: "",
			d: "1m1=a 2m2=b 3m3=c"} {
			if got := r.texts(k); got != want {
				t.Errorf("%s holds %q, want %q", k.Name, got, want)
			}
		}
		steps := first.Steps
		if popped := steps[4].Result.Messages; len(popped) != 2 || popped[0].ID != "m1" || popped[1].ID != "m2" {
			t.Errorf("popped are %+v", popped)
		}
		if steps[0].Result.Removed != 1 || steps[1].Result.First != 3 || steps[2].Result.Removed != 0 ||
			steps[3].Result.First != 5 || steps[3].Result.Removed != 1 || steps[6].Result.Removed != 1 ||
			steps[7].Result.Count != 3 {
			t.Errorf("the steps answer %+v", steps)
		}
		move()
		again := r.do(tx)
		if !again.Duplicate || !reflect.DeepEqual(again.Steps, steps) {
			t.Errorf("again: %+v, want %+v", again.Steps, steps)
		}
	})
}

// A step that cannot take place after those before it keeps all from taking place.
func TestStepOnMessagesThatIsRefused(t *testing.T) {
	r := newRig(t)
	none, other := named("none"), named("other")
	r.appendSome(sessionA, 3)
	r.appendSome(other, 1)
	r.do(setState("1"))
	large := string(make([]byte, 5<<20))
	r.add(named("large"), large)
	r.add(named("large"), large)
	edit := func(k turn.Key, id string) turn.Op {
		return &turn.EditMessage{Key: k, Message: byID(id), Data: []byte("x")}
	}
	remove := &turn.RemoveMessage{Key: sessionA, Message: byID("m1")}
	replace := func(k turn.Key, ms ...turn.NewMessage) turn.Op {
		return &turn.Replace{Key: k, From: 2, Messages: ms}
	}
	gone := &turn.Delete{Keys: []turn.Key{other}}
	known := func(data string) turn.NewMessage { return turn.NewMessage{ID: "m1", Data: []byte(data)} }
	for name, c := range map[string]struct {
		kind  turn.Kind
		steps []turn.Op
	}{
		"an edit of nothing":            {turn.NotFound, []turn.Op{edit(sessionA, "none")}},
		"an edit in no session":         {turn.NotFound, []turn.Op{edit(none, "m1")}},
		"an edit of what is removed":    {turn.NotFound, []turn.Op{remove, edit(sessionA, "m1")}},
		"an edit in a deleted session":  {turn.NotFound, []turn.Op{gone, edit(other, "m1")}},
		"a replacement in no session":   {turn.NotFound, []turn.Op{replace(none)}},
		"a replacement of what is gone": {turn.NotFound, []turn.Op{remove, gone, replace(other)}},
		"known messages":                {turn.Conflict, []turn.Op{replace(sessionA, known("a"))}},
		"an id used":                    {turn.IDReused, []turn.Op{replace(sessionA, known("b"))}},
		"a renaming of nothing":         {turn.NotFound, []turn.Op{remove, &turn.Rename{Key: none, To: other}}},
		"a renaming to what is there":   {turn.Exists, []turn.Op{remove, &turn.Rename{Key: other, To: named("large")}}},
		"a pop of a hash":               {turn.WrongType, []turn.Op{remove, &turn.Pop{Key: stateKey, Count: 1}}},
		"a retention of a hash": {turn.WrongType, []turn.Op{
			&turn.Retain{Key: stateKey, Keep: turn.Retention{Messages: 1}}}},
		"too much to answer with": {turn.TooLarge, []turn.Op{remove, &turn.Pop{Key: named("large"), From: turn.Newest,
			Count: 2}}},
	} {
		tx := all("", append([]turn.Op{setState("2")}, c.steps...)...)
		out := r.apply(1, tx)[0]
		if out.Err == nil || out.Err.Kind != c.kind || out.Err.Step != len(tx.Steps) {
			t.Errorf("%s: %+v, %v", name, out.Result, out.Err)
		}
		if r.state() != "1" || r.texts(sessionA) != "1m1=a 2m2=b 3m3=c" || r.texts(other) != "1m1=a" {
			t.Errorf("%s: a step took place", name)
		}
	}
	// What a step makes is there for those behind it.
	r.do(all("", &turn.SetMetadata{Key: none, Set: map[string]string{"k": "v"}},
		&turn.Replace{Key: none, From: 1, Messages: []turn.NewMessage{{ID: "m", Data: []byte("m")}}}))
	r.do(all("", &turn.Delete{Keys: []turn.Key{other}}, &turn.Retain{Key: other, Keep: turn.Retention{Turns: 1}},
		appendOf(other, "n1", "x"), appendOf(other, "n2", "y"), &turn.Replace{Key: other, From: 9}))
	if r.texts(none) != "1m=m" || r.texts(other) != "2n2=y" {
		t.Errorf("they hold %q and %q", r.texts(none), r.texts(other))
	}
	r.do(all("t", &turn.Pop{Key: named("large"), From: turn.Tail, Count: 1}))
	r.restart()
	if again := r.do(all("t", &turn.Pop{Key: named("large"), From: turn.Tail, Count: 1})); !again.Duplicate ||
		string(again.Steps[0].Result.Messages[0].Data) != large {
		t.Error("a pop that is sent again has another answer")
	}
}

// A retention by turns finds in a transaction the turns that it finds alone.
func TestTransactionKeepsTurns(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig, move func()) {
		for i := range 3 {
			r.do(&turn.Append{Key: sessionA, Messages: []turn.NewMessage{{ID: fmt.Sprint("q", i), Data: []byte("q")},
				{ID: fmt.Sprint("a", i), Data: []byte("a")}}})
		}
		move()
		r.do(all("t", &turn.Retain{Key: sessionA, Keep: turn.Retention{Turns: 2}}, appendOf(sessionA, "last", "x")))
		if got := r.texts(sessionA); got != "5q2=q 6a2=a 7last=x" {
			t.Errorf("it holds %q", got)
		}
	})
}

// Steps on messages for which too little is left in the entry are refused before the first step, and take
// place when they are sent again. One that was planned takes place although nothing is left behind it.
func TestStepsOnMessagesWithoutAllowance(t *testing.T) {
	r := newRig(t)
	large := string(make([]byte, 8<<20))
	for range 11 {
		r.add(sessionA, large)
	}
	r.appendSome(named("b"), 4)
	r.do(&turn.SetScores{Key: named("z"), Members: []turn.Score{{Member: "m"}}})
	pop := func(n uint64) turn.Op { return &turn.Pop{Key: sessionA, From: turn.Head, Count: n} }
	for name, step := range map[string]turn.Op{
		"pop":    &turn.Pop{Key: named("b"), From: turn.Newest, Count: 1},
		"remove": &turn.RemoveMessage{Key: named("b"), Message: byID("m1")},
		"edit":   &turn.EditMessage{Key: named("b"), Message: byID("m1"), Data: []byte("x")},
		"turns":  &turn.Retain{Key: named("b"), Keep: turn.Retention{Turns: 1}},
		"rename": &turn.Rename{Key: named("z"), To: named("y")},
	} {
		tx := all("", setState("2"), step)
		out := r.apply(1, pop(4), pop(4), pop(3), tx)
		if err := out[3].Err; err == nil || err.Kind != turn.Overloaded || r.state() != "" {
			t.Errorf("%s: %+v, %v; the state is %q", name, out[3].Result, err, r.state())
		}
		for range 11 {
			r.add(sessionA, large)
		}
	}
	out := r.apply(1, pop(4), pop(4), pop(1), all("", setState("3"), pop(1)))
	if err := out[3].Err; err == nil || err.Kind != turn.Overloaded || r.state() != "" {
		t.Errorf("a large pop: %+v, %v; the state is %q", out[3].Result, err, r.state())
	}
	search := all("", setState("4"), &turn.RemoveMessage{Key: named("b"), Message: byID("m1")},
		&turn.SetMetadata{Key: named("b"), Set: map[string]string{"k": "v"}},
		&turn.EditMessage{Key: named("b"), Message: byID("m2"), Data: []byte("x")},
		&turn.Rename{Key: named("z"), To: named("y")})
	if r.do(search); r.texts(named("b")) != "2m2=x 3m3=c 4m4=d" || r.state() != "4" {
		t.Errorf("it holds %q", r.texts(named("b")))
	}
}

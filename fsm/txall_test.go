package fsm

import (
	"reflect"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// all returns a transaction that takes place as a whole.
func all(id string, ops ...turn.Op) *turn.Tx {
	return &turn.Tx{All: true, ID: id, Steps: stepsOf(ops...)}
}

var stateKey = turn.Key{Namespace: "0", Name: "state"}

func setState(value string) *turn.SetFields {
	return &turn.SetFields{Key: stateKey, Type: turn.TypeHash, Fields: []turn.Field{{Name: "f", Value: []byte(value)}}}
}

func (r *rig) state() string {
	r.t.Helper()
	elements := r.query(&turn.Fields{Key: stateKey, Type: turn.TypeHash, Names: []string{"f"}}).Elements
	if len(elements) == 0 {
		return ""
	}
	return string(elements[0].Value)
}

// A step that is refused keeps all steps from taking place, whatever it is refused for, and the error
// says which it is.
func TestRefusedStepKeepsTheOthersFromTakingPlace(t *testing.T) {
	r := newRig(t)
	r.apply(1, appendOf(sessionA, "known", "m"), setState("1"))
	most := string(make([]byte, turn.DefaultLimits().MetaBytes-1))
	for name, last := range map[string]turn.Op{
		"another type":       appendOf(stateKey, "", "x"),
		"a type of its own":  &turn.SetFields{Key: sessionA, Type: turn.TypeHash, Fields: []turn.Field{{Name: "x"}}},
		"known messages":     appendOf(sessionA, "known", "m"),
		"an id used":         appendOf(sessionA, "known", "other"),
		"too much metadata":  &turn.SetMetadata{Key: sessionA, Set: map[string]string{"a": most, "b": "c"}},
		"too much by steps":  &turn.SetMetadata{Key: sessionA, Set: map[string]string{"l": most}},
		"deadline of a hash": &turn.Expire{Key: stateKey, HasTTL: true, TTL: 5, Slide: true},
	} {
		before := r.query(&turn.Info{Key: sessionA})
		tx := all("t", setState("2"), appendOf(sessionA, "new", "x"),
			&turn.SetMetadata{Key: sessionA, Set: map[string]string{"k": "v"}}, last)
		out := r.apply(1, tx)[0]
		if out.Err == nil || out.Err.Step != 4 || out.Err.Applied() {
			t.Errorf("%s: %+v, %v", name, out.Result, out.Err)
		}
		after := r.query(&turn.Info{Key: sessionA})
		if r.state() != "1" || !reflect.DeepEqual(after.Session, before.Session) {
			t.Errorf("%s: the state is %s and the session %+v", name, r.state(), after.Session)
		}
	}
}

// Conditions are about the state before the first step. One that does not hold keeps all steps
// from taking place.
func TestConditionThatDoesNotHold(t *testing.T) {
	r := newRig(t)
	out := r.apply(1, appendOf(sessionA, "", "m"), setState("1"))[0]
	none := turn.Key{Namespace: "0", Name: "none"}
	holds := []turn.Condition{{Key: sessionA, Is: turn.AtRevision, N: out.Result.Revision},
		{Key: sessionA, Is: turn.AtSeq, N: 1}, {Key: stateKey, Is: turn.Present}, {Key: none, Is: turn.Absent},
		{Key: none, Is: turn.AtRevision}, {Key: none, Is: turn.AtSeq}}
	for i, fails := range []turn.Condition{{Key: sessionA, Is: turn.AtRevision, N: 9},
		{Key: sessionA, Is: turn.AtSeq, N: 2}, {Key: none, Is: turn.Present}, {Key: stateKey, Is: turn.Absent},
		{Key: none, Is: turn.AtRevision, N: 1}, {Key: none, Is: turn.AtSeq, N: 1}} {
		tx := all("t", setState("2"), appendOf(none, "", "x"))
		tx.Conditions = append(append([]turn.Condition{}, holds[:i]...), fails)
		out := r.apply(1, tx)[0]
		if out.Err == nil || out.Err.Kind != turn.Conflict || out.Err.Condition != i+1 || r.state() != "1" {
			t.Errorf("%+v: %+v, %v; the state is %s", fails, out.Result, out.Err, r.state())
		}
	}
	tx := all("t", setState("2"), appendOf(none, "", "x"))
	tx.Conditions = holds
	if out := r.apply(1, tx)[0]; out.Err != nil || r.state() != "2" {
		t.Errorf("all hold: %v; the state is %s", out.Err, r.state())
	}
}

// A transaction that is sent again is answered as the first time, after changes by others, restarts
// and deletions, for as long as its id is known. Another of the same id is refused.
func TestTransactionSentAgain(t *testing.T) {
	r := newRig(t)
	tx := all("t", setState("1"), appendOf(sessionA, "", "x"))
	tx.Conditions = []turn.Condition{{Key: sessionA, Is: turn.Absent}}
	first := r.apply(1_000, tx)[0]
	if first.Err != nil || first.Result.Duplicate {
		t.Fatalf("%+v, %v", first.Result, first.Err)
	}
	again := func(stamp int64, when string) {
		t.Helper()
		out := r.apply(stamp, tx)[0]
		if out.Err != nil || !out.Result.Duplicate || out.Result.Revision != first.Result.Revision ||
			!reflect.DeepEqual(out.Result.Steps, first.Result.Steps) {
			t.Errorf("%s: %+v, %v", when, out.Result, out.Err)
		}
	}
	again(1_000, "at once")
	r.apply(1_000, setState("2"))
	r.flush()
	again(2_000, "from the store")
	r.apply(2_000, &turn.Delete{Keys: []turn.Key{sessionA, stateKey}})
	r.restart()
	again(2_000, "after a restart")
	if got := r.query(&turn.Info{Key: sessionA}); got.Session != nil || r.state() != "" {
		t.Errorf("it took place again: %+v, %q", got.Session, r.state())
	}
	if out := r.apply(2_000, all("t", setState("1")))[0]; out.Err == nil || out.Err.Kind != turn.IDReused {
		t.Errorf("another of the same id: %+v, %v", out.Result, out.Err)
	}
	other := all("t", &turn.Clear{Key: turn.Key{Namespace: "1", Name: "a"}})
	if out := r.apply(2_000, other)[0]; out.Err != nil || out.Result.Duplicate {
		t.Errorf("one of another namespace: %+v, %v", out.Result, out.Err)
	}
	again(1_000+turn.TransactionTime-1, "at the last moment")
	if out := r.apply(1_000+turn.TransactionTime, tx)[0]; out.Err != nil || out.Result.Duplicate {
		t.Errorf("when its id is not known any more: %+v, %v", out.Result, out.Err)
	}
}

// Since the fourth level, a transaction over other keys is another, whatever its id: so users of a namespace with
// rights to different keys learn nothing of each other's ids, and cannot use them first. Over the same keys, in
// whatever order and whichever step they are of, it is refused.
func TestTransactionIsKnownByItsKeys(t *testing.T) {
	for _, level := range []turn.ClusterLevel{turn.Level3, turn.Level4} {
		r := newRig(t)
		r.raise(level)
		condition := func(id string, k turn.Key, ops ...turn.Op) *turn.Tx {
			tx := all(id, ops...)
			tx.Conditions = []turn.Condition{{Key: k, Is: turn.Absent}}
			return tx
		}
		first := condition("t", named("c"), setState("1"), appendOf(sessionA, "", "x"))
		r.do(first)
		for name, tx := range map[string]*turn.Tx{
			"a key less":        all("t", setState("2"), &turn.Clear{Key: sessionA}),
			"another condition": condition("t", named("d"), setState("2"), &turn.Clear{Key: sessionA}),
			"another key":       all("t", &turn.Clear{Key: named("e")}),
			"a key more": condition("t", named("c"), setState("2"), &turn.Clear{Key: sessionA},
				&turn.Clear{Key: named("f")}),
			"a key that is renamed to": all("t", &turn.Rename{Key: sessionA, To: named("g"), Replace: true}),
		} {
			out := r.apply(1, tx)[0]
			if refused := out.Err != nil && out.Err.Kind == turn.IDReused; refused != (level == turn.Level3) ||
				out.Result.Duplicate {
				t.Errorf("level %d, %s: %+v, %v", level, name, out.Result, out.Err)
			}
		}
		for name, tx := range map[string]*turn.Tx{
			"another content": condition("t", named("c"), setState("2"), appendOf(sessionA, "", "x")),
			"another order":   condition("t", stateKey, appendOf(named("c"), "", "x"), &turn.Clear{Key: sessionA}),
			"a key twice": condition("t", named("c"), setState("1"), appendOf(sessionA, "", "x"),
				&turn.Clear{Key: sessionA}),
		} {
			if out := r.apply(1, tx)[0]; out.Err == nil || out.Err.Kind != turn.IDReused {
				t.Errorf("level %d, %s: %+v, %v", level, name, out.Result, out.Err)
			}
		}
		if out := r.apply(1, first)[0]; out.Err != nil || !out.Result.Duplicate {
			t.Errorf("level %d, sent again: %+v, %v", level, out.Result, out.Err)
		}
	}
}

// What took place before the fourth level is known when the level has risen, as long as its id is.
func TestTransactionSentAgainAtTheNextLevel(t *testing.T) {
	r := newRig(t)
	r.raise(turn.Level3)
	tx, other := all("t", setState("1"), appendOf(sessionA, "", "x")), all("t", &turn.Clear{Key: named("b")})
	first := r.apply(1_000, tx)[0]
	r.raise(turn.Level4)
	r.flush()
	r.restart()
	out := r.apply(2_000, tx)[0]
	if out.Err != nil || !out.Result.Duplicate || !reflect.DeepEqual(out.Result.Steps, first.Result.Steps) {
		t.Errorf("sent again: %+v, %v", out.Result, out.Err)
	}
	if out := r.apply(2_000, other)[0]; out.Err == nil || out.Err.Kind != turn.IDReused {
		t.Errorf("another over other keys: %+v, %v", out.Result, out.Err)
	}
	if out := r.apply(1_000+turn.TransactionTime, tx, other); out[0].Err != nil || out[0].Result.Duplicate ||
		out[1].Err != nil || out[1].Result.Duplicate {
		t.Errorf("when its id is not known any more: %+v, %v; %v", out[0].Result, out[0].Err, out[1].Err)
	}
}

// Ids and keys with the same bytes, joined, are told from each other.
func TestIDsAndKeysOfTransactionsAreNotMixedUp(t *testing.T) {
	r := newRig(t)
	r.raise(turn.Level4)
	in := func(id string, names ...string) *turn.Tx {
		tx := all(id)
		for _, name := range names {
			tx.Steps = append(tx.Steps, turn.Step{Op: &turn.Clear{Key: named(name)}})
		}
		return tx
	}
	for _, tx := range []*turn.Tx{in("ab", "c"), in("a", "bc"), in("a", "b", "c"), in("a", "b\x00c"), in("a\x00b", "c"),
		in("a", "b\x01c")} {
		if out := r.apply(1, tx)[0]; out.Err != nil || out.Result.Duplicate {
			t.Errorf("%+v: %+v, %v", tx, out.Result, out.Err)
		}
	}
}

// An expiry as Redis's leaves a session without messages alone: the steps behind it are not held against
// a session that is gone.
func TestExpiryThatLeavesASessionIsNoStep(t *testing.T) {
	r := newRig(t)
	most := string(make([]byte, turn.DefaultLimits().MetaBytes-1))
	r.apply(1, &turn.SetMetadata{Key: sessionA, Set: map[string]string{"a": most}})
	before := r.query(&turn.Info{Key: sessionA})
	tx := all("t", setState("1"), &turn.Expire{Key: sessionA, HasAt: true, At: 1, List: true},
		&turn.SetMetadata{Key: sessionA, Set: map[string]string{"b": "c"}})
	out := r.apply(1, tx)[0]
	after := r.query(&turn.Info{Key: sessionA})
	if out.Err == nil || out.Err.Applied() || out.Err.Step != 2 || r.state() != "" ||
		!reflect.DeepEqual(after.Session, before.Session) {
		t.Errorf("%+v, %v; the state is %q and the session %+v", out.Result, out.Err, r.state(), after.Session)
	}
}

// A session without messages is not in the way of a hash, in a transaction as without one: its metadata goes
// with it. It is in the way of a hash that a step before gave messages.
func TestTransactionOverASessionWithoutMessages(t *testing.T) {
	r := newRig(t)
	r.apply(1, &turn.SetMetadata{Key: stateKey, Set: map[string]string{"a": "b"}})
	out := r.apply(1, all("t", appendOf(stateKey, "", "m"), setState("1")))[0]
	if out.Err == nil || out.Err.Kind != turn.WrongType || out.Err.Step != 2 {
		t.Errorf("a hash in the place of messages: %+v, %v", out.Result, out.Err)
	}
	noFields := &turn.RemoveFields{Key: stateKey, Type: turn.TypeHash, Names: []string{"f"}}
	if out := r.apply(1, all("u", noFields, setState("2")))[0]; out.Err != nil || r.state() != "2" {
		t.Errorf("a hash in the place of none: %v; the state is %q", out.Err, r.state())
	}
	if got := r.query(&turn.Info{Key: stateKey}).Session; got == nil || got.Type != turn.TypeHash ||
		len(got.Metadata) > 0 {
		t.Errorf("the key holds %+v", got)
	}
}

// A transaction for which nothing is left in its entry is refused before its first step takes place.
func TestTransactionWithoutAllowanceDoesNothing(t *testing.T) {
	r := newRig(t)
	r.raise(turn.Level2)
	large := string(make([]byte, 8<<20))
	for range 12 {
		r.add(sessionA, large)
	}
	pop := &turn.Pop{Key: sessionA, From: turn.Head, Count: 4} // so few are taken out without a look at their sizes
	tx := &turn.Tx{All: true, Steps: []turn.Step{{Op: &turn.Append{Key: named("tx"), Messages: payload("x")}},
		{Op: &turn.SetMetadata{Key: named("tx"), Set: map[string]string{"k": "v"}}}}}
	out := r.apply(1, pop, pop, pop, tx)[3]
	if out.Err == nil || out.Err.Kind != turn.Overloaded || r.query(&turn.Info{Key: named("tx")}).Session != nil {
		t.Errorf("%+v, %v", out.Result, out.Err)
	}
	if out := r.apply(1, tx)[0]; out.Err != nil {
		t.Errorf("sent again: %v", out.Err)
	}
}

// A key that a step deletes has its whole metadata free for the steps behind it.
func TestTransactionReplacesMetadata(t *testing.T) {
	r := newRig(t)
	r.raise(turn.Level2)
	set := func(name string) turn.Op {
		value := string(make([]byte, turn.DefaultLimits().MetaBytes-len(name)))
		return &turn.SetMetadata{Key: sessionA, Set: map[string]string{name: value}}
	}
	r.do(set("a"))
	r.do(&turn.Tx{All: true, Steps: []turn.Step{{Op: &turn.Delete{Keys: []turn.Key{sessionA}}}, {Op: set("b")}}})
	if got := r.query(&turn.Info{Key: sessionA}).Session.Metadata; len(got) != 1 || got["b"] == "" {
		t.Errorf("%d pairs", len(got))
	}
}

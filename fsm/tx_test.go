package fsm

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/keyspace"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

func stepsOf(ops ...turn.Op) (steps []turn.Step) {
	for _, op := range ops {
		steps = append(steps, turn.Step{Op: op})
	}
	return steps
}

// A watched key that was deleted and made again, with the same value, was changed.
func TestWatchNoticesDeleteAndRecreate(t *testing.T) {
	r := newRig(t)
	set := &turn.SetString{Key: sessionA, Value: []byte("x")}
	r.apply(1, set)
	watched := []turn.Watched{{Key: sessionA, Revision: r.query(&turn.Info{Key: sessionA}).Revision}}
	tx := &turn.Tx{Watch: watched, Steps: stepsOf(&turn.AddInt{Key: turn.Key{Namespace: "0", Name: "n"}, Delta: 1})}
	if out := r.apply(1, tx)[0]; out.Err != nil || out.Result.Aborted || len(out.Result.Steps) != 1 {
		t.Fatalf("unchanged: %+v, %v", out.Result, out.Err)
	}
	r.apply(1, &turn.Delete{Keys: []turn.Key{sessionA}}, set)
	if out := r.apply(1, tx)[0]; out.Err != nil || !out.Result.Aborted || len(out.Result.Steps) != 0 {
		t.Fatalf("deleted and made again: %+v, %v", out.Result, out.Err)
	}
	if got := r.query(&turn.GetString{Key: turn.Key{Namespace: "0", Name: "n"}}); string(got.Value) != "1" {
		t.Fatalf("the aborted transaction took place: the counter is %s, want 1", got.Value)
	}
}

// Steps see those before them, and one that fails leaves the others be.
func TestStepsHaveTheirOwnOutcomes(t *testing.T) {
	r := newRig(t)
	long := bytes.Repeat([]byte("x"), turn.DefaultLimits().ReadBytes*6/10)
	out := r.apply(1, &turn.Tx{Steps: []turn.Step{
		{Op: &turn.SetString{Key: sessionA, Value: long}},
		{Query: &turn.GetString{Key: sessionA}},
		{Op: appendOf(sessionA, "", "not a list")},
		{Op: &codec.Checksum{}},
		{Op: &turn.AddInt{Key: sessionA, Delta: 1}},
		{Query: &turn.GetString{Key: sessionA}},
		{Op: setOf(turn.Key{Namespace: "0", Name: "b"}, "m")},
	}})[0]
	if out.Err != nil || len(out.Result.Steps) != 7 {
		t.Fatalf("%+v, %v", out.Result, out.Err)
	}
	steps := out.Result.Steps
	if !bytes.Equal(steps[1].Result.Value, long) {
		t.Errorf("the second step read %d bytes", len(steps[1].Result.Value))
	}
	for i, kind := range map[int]turn.Kind{2: turn.WrongType, 3: turn.Invalid, 4: turn.Invalid, 5: turn.TooLarge} {
		if steps[i].Err == nil || steps[i].Err.Kind != kind {
			t.Errorf("step %d: %v, want %v", i+1, steps[i].Err, kind)
		}
	}
	if steps[6].Err != nil || steps[6].Result.Number != 1 {
		t.Errorf("the last step: %+v, %v", steps[6].Result, steps[6].Err)
	}
}

// What a session without metadata answers with does not tell whether it ever had
// any, nor whether it was read from memory or from the store: a node that applies a
// log again after a restart flushes at other entries than before.
func TestMetadataTakenAwayLeavesNone(t *testing.T) {
	r := newRig(t)
	r.apply(1, appendOf(sessionA, "", "m"), &turn.SetMetadata{Key: sessionA, Set: map[string]string{"k": "v"}})
	r.apply(1, &turn.SetMetadata{Key: sessionA, Unset: []string{"k"}})
	query := func() turn.Result {
		out := r.apply(1, &turn.Tx{Steps: []turn.Step{{Query: &turn.Info{Key: sessionA}}}})[0]
		return out.Result.Steps[0].Result
	}
	before := query()
	r.flush()
	if after := query(); !reflect.DeepEqual(before.Session, after.Session) {
		t.Errorf("before a flush the session is\n %#v, after it\n %#v", before.Session, after.Session)
	}
}

// A watched key whose time has come is gone, also if it is not its turn yet to be deleted
// because as many others have expired at once.
func TestWatchNoticesExpiry(t *testing.T) {
	r := newRig(t)
	key := func(i int) turn.Key { return turn.Key{Namespace: "0", Name: fmt.Sprintf("k%04d", i)} }
	var ops []turn.Op
	for i := range keyspace.DueChunk + 2 {
		ops = append(ops, appendOf(key(i), "", "x"), &turn.Expire{Key: key(i), At: 100, HasAt: true})
	}
	r.apply(1, ops...)
	last := key(keyspace.DueChunk + 1)
	was := r.query(&turn.Info{Key: last}).Revision
	tx := func(revision uint64) *turn.Tx {
		return &turn.Tx{Watch: []turn.Watched{{Key: last, Revision: revision}},
			Steps: stepsOf(appendOf(sessionA, "", "x"))}
	}
	if out := r.apply(100, tx(was))[0]; out.Err != nil || !out.Result.Aborted {
		t.Errorf("it was watched before it expired: %+v, %v", out.Result, out.Err)
	}
	r = newRig(t)
	r.apply(1, ops...)
	if out := r.apply(100, tx(0))[0]; out.Err != nil || out.Result.Aborted {
		t.Errorf("it was watched after it expired: %+v, %v", out.Result, out.Err)
	}
}

// A query in a transaction tells the same of a key as one beside it, whether the key is in memory
// or in the store.
func TestQueriesInATransactionTellTheSame(t *testing.T) {
	r := newRig(t)
	key := func(name string) turn.Key { return turn.Key{Namespace: "0", Name: name} }
	fields := []turn.Field{{Name: "x", Value: []byte("1")}, {Name: "y", Value: []byte("2")}}
	members := []turn.Field{{Name: "x"}, {Name: "y"}}
	r.apply(1, &turn.Append{Key: sessionA, Messages: []turn.NewMessage{
		{ID: "1", Data: []byte("p")}, {Data: []byte("q")},
		{Data: []byte("r")}}},
		&turn.Trim{Key: sessionA, By: turn.KeepLast, N: 2},
		&turn.SetMetadata{Key: sessionA, Set: map[string]string{"k": "v"}},
		&turn.SetString{Key: key("string"), Value: []byte("s")},
		&turn.SetFields{Key: key("hash"), Type: turn.TypeHash, Fields: fields},
		&turn.SetFields{Key: key("set"), Type: turn.TypeSet, Fields: members},
		&turn.AddEntry{Key: key("stream"), Make: turn.IDGiven, ID: turn.EntryID{Time: 5}, Fields: fields})
	queries := []turn.Query{
		&turn.Info{Key: sessionA}, &turn.Info{Key: key("hash")}, &turn.Info{Key: key("none")},
		&turn.Read{Key: sessionA, Limit: 1}, &turn.Read{Key: sessionA, From: turn.FromAfter, Seq: 2},
		&turn.Read{Key: sessionA, From: turn.FromBefore, Seq: 3}, &turn.Read{Key: key("none")},
		&turn.List{Key: sessionA, Start: 0, Stop: -1}, &turn.GetString{Key: key("string")},
		&turn.Fields{Key: key("hash"), Type: turn.TypeHash, Names: []string{"y", "z"}},
		&turn.AllFields{Key: key("set"), Type: turn.TypeSet},
		&turn.Entries{Key: key("stream"), Max: turn.MaxEntryID()}, &turn.Count{Namespace: "0"},
		&turn.Sessions{Namespace: "0", Limit: 9}, &turn.Sessions{Namespace: "0", Limit: 9, List: true},
	}
	for _, flushed := range []bool{false, true} {
		if flushed {
			r.flush()
		}
		for _, q := range queries {
			out := r.apply(1, &turn.Tx{Steps: []turn.Step{{Query: q}}})[0]
			if out.Err != nil || out.Result.Steps[0].Err != nil {
				t.Fatalf("%T: %+v", q, out)
			}
			if got, want := out.Result.Steps[0].Result, r.query(q); !reflect.DeepEqual(got, want) {
				t.Errorf("%T, flushed: %v:\n%+v in a transaction,\n%+v beside it", q, flushed, got, want)
			}
		}
	}
}

// The answers of a transaction have so many bytes together, and not one more.
func TestAnswersOfATransactionHaveALimit(t *testing.T) {
	r := newRig(t)
	limit := turn.DefaultLimits().ReadBytes
	other := turn.Key{Namespace: "0", Name: "b"}
	first := make([]byte, limit/2)
	r.apply(1, &turn.SetString{Key: sessionA, Value: first})
	for more, want := range map[int]turn.Kind{0: turn.None, 1: turn.TooLarge} {
		r.apply(1, &turn.SetString{Key: other, Value: make([]byte, limit-len(first)+more)})
		steps := r.apply(1, &turn.Tx{Steps: []turn.Step{{Query: &turn.GetString{Key: sessionA}},
			{Query: &turn.GetString{Key: other}}}})[0].Result.Steps
		got := turn.None
		if steps[1].Err != nil {
			got = steps[1].Err.Kind
		}
		if steps[0].Err != nil || got != want {
			t.Errorf("%d bytes beyond the limit: %v, %v", more, steps[0].Err, steps[1].Err)
		}
	}
}

package fsm

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/cost"
	"github.com/turnlog/turnlog/turn"
)

// describe returns what Info says of a key, but for what a renaming changes, and all elements or messages.
func (r *rig) describe(k turn.Key, all turn.Query) (turn.Session, turn.Result) {
	r.t.Helper()
	is := r.query(&turn.Info{Key: k}).Session
	if is == nil {
		r.t.Fatalf("%v does not exist", k)
	}
	s, held := *is, r.query(all)
	s.Key, s.Incarnation, s.Revision, s.Updated = turn.Key{}, 0, 0, 0
	held.Index, held.Time, held.Revision, held.Session = 0, 0, 0, nil
	return s, held
}

// What a key holds, of any type and from the store, is the same under its new name; the deadline still ends it.
func TestRenameKeepsAllThatAKeyHolds(t *testing.T) {
	for typ, all := range map[turn.Type]func(turn.Key) turn.Query{
		turn.TypeHash: func(k turn.Key) turn.Query { return &turn.AllFields{Key: k, Type: turn.TypeHash} },
		turn.TypeSet:  func(k turn.Key) turn.Query { return &turn.AllFields{Key: k, Type: turn.TypeSet} },
		turn.TypeZSet: func(k turn.Key) turn.Query {
			return &turn.Scores{Key: k, By: turn.ByRank, Start: 0, Stop: -1}
		},
		turn.TypeStream: func(k turn.Key) turn.Query { return &turn.Entries{Key: k, Max: turn.MaxEntryID()} },
	} {
		t.Run(typ.String(), func(t *testing.T) {
			r, to := newRig(t), turn.Key{Namespace: "0", Name: "to"}
			r.fillFour(typ)
			if typ == turn.TypeStream {
				r.do(&turn.TrimEntries{Key: sessionA, Trim: turn.StreamTrim{By: turn.ToLength, Length: 2}})
			}
			r.do(&turn.Expire{Key: sessionA, HasAt: true, At: 5000})
			r.flush()
			is, held := r.describe(sessionA, all(sessionA))
			if out := r.apply(70, &turn.Rename{Key: sessionA, To: to})[0]; out.Err != nil || out.Result.Removed != 1 {
				t.Fatalf("%+v, %v", out.Result, out.Err)
			}
			for _, stage := range []string{"in memory", "from the store"} {
				now, holds := r.describe(to, all(to))
				if !reflect.DeepEqual(now, is) || !reflect.DeepEqual(holds, held) {
					t.Errorf("%s: %+v %+v\nbefore: %+v %+v", stage, now, holds, is, held)
				}
				r.flush()
			}
			r.apply(5000)
			for _, k := range []turn.Key{sessionA, to} {
				if r.query(&turn.Info{Key: k}).Session != nil {
					t.Errorf("%v is there after its deadline", k)
				}
			}
		})
	}
}

// What renamings of one entry may copy is bounded, and what is refused did nothing.
func TestRenameIsBounded(t *testing.T) {
	r := newRig(t)
	for n := range 3 {
		for i := range 6 {
			r.do(&turn.SetFields{Key: named(fmt.Sprint("h", n)), Type: turn.TypeHash,
				Fields: []turn.Field{{Name: fmt.Sprint(i), Value: make([]byte, 5<<20)}}})
		}
	}
	rename := func(n int) turn.Op {
		return &turn.Rename{Key: named(fmt.Sprint("h", n)), To: named(fmt.Sprint("to", n))}
	}
	before := r.m.keys.Tables.Active.Bytes
	outs := r.apply(1, rename(0), rename(1), rename(2))
	if got := outcomes(outs); got[turn.Overloaded] != 1 || got[turn.Internal] != 2 {
		t.Errorf("three of 30 MiB: %v", got)
	}
	if grown := r.m.keys.Tables.Active.Bytes - before; grown > cost.EntryAllowance() {
		t.Errorf("an entry needs %d MiB", grown>>20)
	}
	if out := r.apply(1, rename(2))[0]; out.Err != nil || r.query(&turn.Info{Key: named("h2")}).Session != nil {
		t.Errorf("sent again: %v", out.Err)
	}
	for i := range 30 {
		r.do(&turn.SetFields{Key: named("large"), Type: turn.TypeHash,
			Fields: []turn.Field{{Name: fmt.Sprint(i), Value: make([]byte, 5<<20)}}})
	}
	out := r.apply(1, &turn.Rename{Key: named("large"), To: named("to0"), Replace: true})[0]
	if out.Err == nil || out.Err.Kind != turn.TooLarge || r.query(&turn.Info{Key: named("to0")}).Session == nil {
		t.Errorf("150 MiB: %v", out.Err)
	}
}

// A session that is renamed knows the ids that it knew, also of messages that it does not have any more, through
// several renamings, from the store and from a dump. Clusters before level 3 knew those of its messages.
func TestRenamedKnowsIDsOfRemovedMessages(t *testing.T) {
	push := func(name, id string) turn.Op {
		return &turn.Append{Key: named(name), Messages: []turn.NewMessage{{ID: id, Data: []byte(id)}}}
	}
	for _, level := range []turn.ClusterLevel{turn.Level2, turn.Level3} {
		for how, settled := range settlings {
			r := newRig(t)
			r.raise(level)
			for _, id := range []string{"dropped", "trimmed", "popped", "removed", "edited", "stays", "last"} {
				r.do(push("a", id))
			}
			for _, op := range []turn.Op{
				&turn.Retain{Key: sessionA, Keep: turn.Retention{Messages: 6}},
				&turn.Trim{Key: sessionA, By: turn.KeepLast, N: 5},
				&turn.Pop{Key: sessionA, From: turn.Head, Count: 1},
				&turn.RemoveMessage{Key: sessionA, Message: turn.MessageRef{ID: "removed"}},
				&turn.EditMessage{Key: sessionA, Message: turn.MessageRef{ID: "edited"}, Data: []byte("other")},
				renameTo("a", "b"),
				renameTo("b", "c"),
			} {
				r.do(op)
				settled(r)
			}
			if how == "restart" {
				if err := r.m.Restore(bytes.NewReader(r.dump())); err != nil {
					t.Fatal(err)
				}
			}
			before := r.query(&turn.Info{Key: named("c")}).Session
			for i, id := range []string{"dropped", "trimmed", "popped", "removed", "edited", "stays", "last"} {
				seq, removed := uint64(i+1), i < 4
				got := r.do(push("c", id))
				if want := !removed || level == turn.Level3; got.Duplicate != want || want && got.First != seq {
					t.Errorf("level %d, in %s: %s again: %+v", level, how, id, got)
				}
			}
			if is := r.query(&turn.Info{Key: named("c")}).Session; level == turn.Level3 &&
				!reflect.DeepEqual(is, before) {
				t.Errorf("in %s: %+v, before all came again %+v", how, is, before)
			}
			out := r.apply(1, &turn.Append{Key: named("c"),
				Messages: []turn.NewMessage{{ID: "popped", Data: []byte("another")}}})[0]
			if level == turn.Level3 && (out.Err == nil || out.Err.Kind != turn.IDReused) {
				t.Errorf("in %s: a removed message's id with another payload: %v", how, out.Err)
			}
		}
	}
}

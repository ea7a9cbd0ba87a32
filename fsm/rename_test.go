package fsm

import (
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

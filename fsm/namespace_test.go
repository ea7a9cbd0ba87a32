package fsm

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"
	"weak"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

func (r *rig) do(op turn.Op) turn.Result {
	r.t.Helper()
	out := r.apply(1, op)[0]
	if out.Err != nil {
		r.t.Fatalf("%+v: %v", op, out.Err)
	}
	return out.Result
}

// everywhere runs fn with what is done between a write and what follows it: nothing, or
// what has the state read from somewhere else.
func everywhere(t *testing.T, fn func(t *testing.T, r *rig, move func())) {
	for name, move := range map[string]func(*rig){
		"memory":  func(*rig) {},
		"store":   func(r *rig) { r.flush() },
		"restart": func(r *rig) { r.flush(); r.log = nil; r.restart() },
		"dump": func(r *rig) {
			if err := r.m.Restore(bytes.NewReader(r.dump())); err != nil {
				r.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			fn(t, r, func() { move(r) })
		})
	}
}

// A client that retries an append hears the revision after it, not the present one: that one would
// let a condition pass although others wrote.
func TestRetryHearsTheRevisionOfItsAppend(t *testing.T) {
	one := appendOf(sessionA, "one", "1")
	batch := &turn.Append{Key: sessionA,
		Messages: []turn.NewMessage{{ID: "x", Data: []byte("x")}, {ID: "y", Data: []byte("y")}}}
	for name, other := range map[string]turn.Op{
		"append":  appendOf(sessionA, "other", "o"),
		"meta":    &turn.SetMetadata{Key: sessionA, Set: map[string]string{"k": "v"}},
		"trim":    &turn.Trim{Key: sessionA, By: turn.KeepLast, N: 1},
		"clear":   &turn.Clear{Key: sessionA},
		"delete":  &turn.Delete{Keys: []turn.Key{sessionA}},
		"edit":    &turn.InsertElement{Key: sessionA, Pivot: []byte("x"), Data: []byte("i")},
		"replace": &turn.Replace{Key: sessionA, From: 1, Messages: []turn.NewMessage{{Data: []byte("r")}}},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, r *rig, move func()) {
				first := r.do(one).Revision
				both := r.do(batch).Revision
				move()
				r.do(other)
				move()
				r.retried(one, first)
				r.retried(batch, both)
				r.do(appendOf(sessionA, "later", "l")) // to a deleted session: begins it again
				move()
				r.retried(one, first)
				r.retried(batch, both)
			})
		})
	}
}

// retried has an append done again, which is to be a duplicate with a revision; nothing may
// be done on condition of it.
func (r *rig) retried(op *turn.Append, revision uint64) {
	r.t.Helper()
	again := r.do(op)
	if !again.Duplicate || again.Revision != revision {
		r.t.Errorf("%q again: %+v, want a duplicate with revision %d", op.Messages[0].ID, again, revision)
	}
	next := appendOf(op.Key, "", "next")
	next.Expect = &again.Revision
	if out := r.apply(1, next)[0]; out.Err == nil || out.Err.Kind != turn.Conflict {
		r.t.Errorf("%q was told revision %d, and an append on that condition took place: %+v, %v", op.Messages[0].ID,
			again.Revision, out.Result, out.Err)
	}
}

// The revisions of a namespace tell nothing of the others', and rise whatever is deleted.
func TestRevisionsOfANamespace(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig, move func()) {
		mine, theirs := turn.Key{Namespace: "mine", Name: "a"}, turn.Key{Namespace: "theirs", Name: "a"}
		want := func(revision uint64, op turn.Op) {
			t.Helper()
			for range 3 {
				r.do(appendOf(theirs, "", "x"))
			}
			move()
			if got := r.do(op).Revision; got != revision {
				t.Errorf("%T hears revision %d, want %d", op, got, revision)
			}
			move()
		}
		want(1, appendOf(mine, "", "x"))
		want(2, &turn.SetMetadata{Key: mine, Set: map[string]string{"k": "v"}})
		want(2, &turn.Delete{Keys: []turn.Key{{Namespace: "mine", Name: "none"}}})
		want(3, &turn.Delete{Keys: []turn.Key{mine}})
		want(3, &turn.Delete{Keys: []turn.Key{mine}})
		want(4, appendOf(mine, "", "x"))
		want(5, &turn.SetString{Key: turn.Key{Namespace: "mine", Name: "s"}, Value: []byte("v")})
		want(6, &turn.Expire{Key: mine, HasAt: true, At: 1})
		want(7, &turn.Erase{Namespace: "mine", Limit: 10})
		want(8, appendOf(mine, "", "x"))
		want(9, &turn.RemoveElements{Key: mine, Data: []byte("x")})
		if tx := r.do(&turn.Tx{Steps: []turn.Step{{Op: appendOf(mine, "", "x")}}}); tx.Revision != 0 ||
			tx.Steps[0].Result.Revision != 10 {
			t.Errorf("a transaction hears %+v", tx)
		}
		if watched := r.do(&turn.Tx{Watch: []turn.Watched{{Key: mine, Revision: 10}}}); watched.Aborted {
			t.Error("a transaction was aborted by what others did to their namespace")
		}
	})
}

// What is kept of a namespace keeps nothing else in memory: not the changes that were made
// with the last one of its own.
func TestIdleNamespacesHoldNoTables(t *testing.T) {
	r := newRig(t)
	var tables []weak.Pointer[memtable.Table]
	for i := range 8 {
		tables = append(tables, weak.Make(r.m.keys.Tables.Active))
		r.do(appendOf(turn.Key{Namespace: fmt.Sprint("n", i), Name: "s"}, "id", "x"))
		r.do(appendOf(sessionA, "", "x"))
		r.flush()
	}
	runtime.GC()
	for i, old := range tables {
		if old.Value() != nil {
			t.Errorf("the changes of flush %d are still in memory", i)
		}
	}
	for i := range 8 { // and they are still known
		r.do(appendOf(turn.Key{Namespace: fmt.Sprint("n", i), Name: "s"}, "", "x"))
		if n := r.query(&turn.Count{Namespace: fmt.Sprint("n", i)}).Count; n != 1 {
			t.Errorf("namespace %d has %d keys", i, n)
		}
	}
}

// A namespace without keys takes no memory, and no place in the store: a bounded number of
// floors serves the counters of all such. What begins again goes on above what was given out.
func TestNamespacesWithoutKeysAreForgotten(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig, move func()) {
		named := func(i int) turn.Key { return turn.Key{Namespace: fmt.Sprint("n", i), Name: "s"} }
		last := make(map[int]uint64)
		for i := range 30 {
			for range 1 + i%7 {
				last[i] = r.do(appendOf(named(i), "", "x")).Revision
			}
		}
		move()
		for i := range 30 {
			switch i % 5 {
			case 0:
				last[i] = r.do(&turn.Delete{Keys: []turn.Key{named(i)}}).Revision
			case 1:
				last[i] = r.do(&turn.Clear{Key: named(i)}).Revision
			case 2:
				last[i] = r.do(&turn.Pop{Key: named(i), From: turn.Head, Count: 9, List: true}).Revision
			case 3:
				r.do(&turn.Expire{Key: named(i), HasAt: true, At: 1})
			}
		}
		r.flush()
		move()
		floors := make(map[string]bool)
		for i := range 30 {
			if i%5 < 4 {
				floors[layout.FloorOf(named(i).Namespace)] = true
			}
		}
		if n := r.m.keys.Known() - len(floors); n != 6 {
			t.Errorf("%d namespaces are in memory, 6 have keys", n)
		}
		if n := r.pairs(layout.BucketNamespaces) - len(floors); n != 6 {
			t.Errorf("%d namespaces are in the store, 6 have keys", n)
		}
		for i := range 30 {
			got := r.do(appendOf(named(i), "", "x")).Revision
			if got <= last[i] {
				t.Errorf("namespace %d has revision %d, had %d", i, got, last[i])
			}
			if more := r.do(appendOf(named(i), "", "x")).Revision; more != got+1 {
				t.Errorf("namespace %d has revision %d after %d", i, more, got)
			}
		}
	})
}

// Of two namespaces that share a floor, the one with the lower counter does not lower it for the other.
func TestSharedFloorKeepsTheHighestCounter(t *testing.T) {
	twin := ""
	for i := 0; twin == ""; i++ {
		if name := fmt.Sprint("b", i); layout.FloorOf(name) == layout.FloorOf("a") {
			twin = name
		}
	}
	everywhere(t, func(t *testing.T, r *rig, move func()) {
		high, low := turn.Key{Namespace: "a", Name: "s"}, turn.Key{Namespace: twin, Name: "s"}
		for range 2 { // the second gives it a counter of its own
			r.do(appendOf(low, "", "x"))
		}
		for range 10 {
			r.do(appendOf(high, "", "x"))
		}
		r.do(&turn.Delete{Keys: []turn.Key{high}})
		move()
		r.do(&turn.Delete{Keys: []turn.Key{low}})
		move()
		if got := r.do(appendOf(high, "", "x")).Revision; got != 12 {
			t.Errorf("namespace a goes on at revision %d, want 12", got)
		}
	})
}

// A namespace that has no keys, or loses its last, hears nothing of the others.
func TestEmptyNamespacesHearNothingOfOthers(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig, move func()) {
		named := func(ns string) turn.Key { return turn.Key{Namespace: ns, Name: "s"} }
		for range 50 {
			r.do(appendOf(named("a"), "", "x"))
		}
		r.do(appendOf(named("b"), "", "x"))
		move()
		r.do(&turn.Delete{Keys: []turn.Key{named("a")}})
		move()
		for ns, want := range map[string]uint64{"none": 0, "b": 2} {
			for range 2 {
				if got := r.do(&turn.Delete{Keys: []turn.Key{named(ns)}}).Revision; got != want {
					t.Errorf("a deletion in namespace %q hears revision %d, want %d", ns, got, want)
				}
			}
			move()
			if got := r.do(appendOf(named(ns), "", "x")).Revision; got != want+1 {
				t.Errorf("an append to namespace %q hears revision %d, want %d", ns, got, want+1)
			}
		}
		if got := r.do(appendOf(named("a"), "", "x")).Revision; got != 52 {
			t.Errorf("namespace a goes on at revision %d, want 52", got)
		}
	})
}

// pairs counts those of a bucket of the store.
func (r *rig) pairs(bucket []byte) (n int) {
	r.t.Helper()
	if err := r.db().View(func(tx *bbolt.Tx) error {
		n = tx.Bucket(bucket).Stats().KeyN
		return nil
	}); err != nil {
		r.t.Fatal(err)
	}
	return n
}

// The number of all keys is that of each namespace together, wherever the state is read from.
func TestKeysOfAllNamespaces(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig, move func()) {
		other := turn.Key{Namespace: "other", Name: "a"}
		r.do(appendOf(sessionA, "1", "x"))
		r.do(appendOf(sessionA, "2", "y"))
		r.do(appendOf(other, "1", "x"))
		r.do(&turn.SetFields{Key: turn.Key{Namespace: "other", Name: "h"}, Type: turn.TypeHash,
			Fields: []turn.Field{{Name: "f", Value: []byte("v")}}})
		move()
		if n := r.m.Keys(); n != 3 {
			t.Errorf("%d keys, want 3", n)
		}
		r.do(&turn.Delete{Keys: []turn.Key{sessionA, other}})
		move()
		if n := r.m.Keys(); n != 1 {
			t.Errorf("%d keys after two were deleted, want 1", n)
		}
	})
}

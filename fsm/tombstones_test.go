package fsm

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// newMessages returns n messages with ids of their own.
func newMessages(prefix string, n int) []turn.NewMessage {
	ms := make([]turn.NewMessage, n)
	for i := range ms {
		ms[i] = turn.NewMessage{ID: fmt.Sprint(prefix, "-", i), Data: []byte("x")}
	}
	return ms
}

// From level 1 on, the ids of so many messages of deleted sessions of a key are
// remembered, and of all before.
func TestBoundOfIDsOfDeletedSessions(t *testing.T) {
	for _, level := range []turn.ClusterLevel{turn.Level0, turn.Level1} {
		for _, flush := range []bool{false, true} {
			t.Run(fmt.Sprintf("level=%d/flush=%v", level, flush), func(t *testing.T) {
				r := newRig(t)
				r.raise(level)
				const sessions = turn.TombstoneMessages/turn.IDWindow + 2
				for i := range sessions {
					r.do(&turn.Append{Key: sessionA, Messages: newMessages(fmt.Sprint("s", i), turn.IDWindow)})
					r.do(&turn.Delete{Keys: []turn.Key{sessionA}})
					if flush && i%5 == 0 {
						r.flush()
					}
				}
				for i := range sessions {
					again := r.do(&turn.Append{Key: sessionA, Messages: newMessages(fmt.Sprint("s", i), 1)})
					if want := level == turn.Level0 || i >= 2; again.Duplicate != want {
						t.Errorf("an id of deleted session %d is known: %v, want %v", i, again.Duplicate, want)
					}
				}
			})
		}
	}
}

// An append looks at so many deleted sessions of its key at most, however few messages they
// had: an entry of appends shall not take seconds.
func TestBoundOfDeletedSessions(t *testing.T) {
	for _, flush := range []bool{false, true} {
		t.Run(fmt.Sprint("flush=", flush), func(t *testing.T) {
			r := newRig(t)
			r.raise(turn.Level1)
			const more = 20
			for i := range turn.DeletedSessions + more {
				r.do(&turn.Append{Key: sessionA, Messages: newMessages(fmt.Sprint("s", i), 1)})
				r.do(&turn.Delete{Keys: []turn.Key{sessionA}})
				if flush && i%100 == 50 {
					r.flush()
				}
			}
			looked, err := r.m.tombstones(joinKey(sessionA))
			r.m.closeTx()
			if err != nil || len(looked) != turn.DeletedSessions {
				t.Errorf("an append looks at %d deleted sessions, %v", len(looked), err)
			}
			for i := range turn.DeletedSessions + more {
				again := r.do(&turn.Append{Key: sessionA, Messages: newMessages(fmt.Sprint("s", i), 1)})
				if want := i >= more; again.Duplicate != want {
					t.Errorf("an id of deleted session %d is known: %v, want %v", i, again.Duplicate, want)
				}
			}
		})
	}
}

// However often a key was deleted, an append looks for what is remembered of that once,
// not for each of its ids.
func TestAppendLooksOnceForDeletedSessions(t *testing.T) {
	r := newRig(t)
	const cycles = 500
	for i := range cycles {
		r.do(&turn.Append{Key: sessionA, Messages: newMessages(fmt.Sprint("s", i), 1)})
		r.do(&turn.Delete{Keys: []turn.Key{sessionA}})
	}
	run := 0
	const n = 500
	allocs := testing.AllocsPerRun(1, func() {
		run++
		r.do(&turn.Append{Key: sessionA, Messages: newMessages(fmt.Sprint("new", run), n)})
	})
	if allocs > 20*n {
		t.Errorf("an append of %d messages after %d deletions made %.0f allocations", n, cycles, allocs)
	}
	if again := r.do(&turn.Append{Key: sessionA, Messages: newMessages("s0", 1)}); !again.Duplicate {
		t.Error("the id that was deleted first is forgotten")
	}
}

// However many sessions of other keys were deleted, even of keys that begin with a key and a
// NUL, few tombstones are looked at to find those of the key. Before level 1 that is true of
// names that do not imitate incarnations.
func TestTombstonesOfOtherKeysAreNotPassed(t *testing.T) {
	imitating := func(i int) string { return "a\x00" + string(binary.BigEndian.AppendUint64(nil, uint64(i+1))) + "x" }
	for _, test := range []struct {
		level turn.ClusterLevel
		name  func(i int) string
	}{
		{turn.Level0, func(i int) string { return fmt.Sprintf("a\x00%07d", i) }},
		{turn.Level1, func(i int) string { return fmt.Sprintf("a\x00%07d", i) }},
		{turn.Level1, imitating},
	} {
		r := newRig(t)
		r.raise(test.level)
		key := turn.Key{Namespace: "0", Name: "a"}
		deleted := func(k turn.Key, id string) []turn.Op {
			return []turn.Op{&turn.Append{Key: k, Messages: []turn.NewMessage{{ID: id, Data: []byte("x")}}},
				&turn.Delete{Keys: []turn.Key{k}}}
		}
		r.apply(1, deleted(key, "first")...)
		var others []turn.Op
		for i := range 500 {
			others = append(others, deleted(turn.Key{Namespace: "0", Name: test.name(i)}, "other")...)
		}
		r.apply(1, others...)
		r.apply(1, deleted(key, "last")...)
		for _, flushed := range []bool{false, true} {
			if flushed {
				r.flush()
			}
			if looks, found := r.tombstonesOf(key); looks > 20 || found < 2 {
				t.Errorf("level %d, names as %q, flushed: %v: %d are looked at, %d found", test.level, test.name(0),
					flushed, looks, found)
			}
			for _, id := range []string{"first", "last"} {
				if again := r.do(&turn.Append{Key: key,
					Messages: []turn.NewMessage{{ID: id, Data: []byte("x")}}}); !again.Duplicate {
					t.Errorf("level %d, names as %q, flushed: %v: %s is not known", test.level, test.name(0),
						flushed, id)
				}
			}
		}
	}
}

// tombstonesOf finds the tombstones of a key, and returns how many were looked at for that.
func (r *rig) tombstonesOf(k turn.Key) (looks, found int) {
	r.t.Helper()
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	defer r.m.closeTx()
	tx, err := r.m.storeTx()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, prefix := range []string{tombstonePrefix(joinKey(k)), oldTombstonePrefix(joinKey(k))} {
		w := r.m.tombstonesOf(tx, prefix)
		for w.next() {
			found++
		}
		looks += w.looks
	}
	return looks, found
}

// The tombstone of a shorter key, of before level 1, can begin as those of a longer one do.
func TestTombstonesOfShorterKeysDoNotCount(t *testing.T) {
	r := newRig(t)
	short, long := turn.Key{Namespace: "0", Name: "a"}, turn.Key{Namespace: "0", Name: "a\x00\x00\x00\x00\x00\x00\x01"}
	r.m.meta.lastInc = 1 << 17
	r.m.active.tombstones.Set(withInc(oldTombstonePrefix(joinKey(short)), 1<<16), tombstone{})
	if _, found := r.tombstonesOf(short); found != 1 {
		t.Errorf("%d tombstones of %q, not 1", found, short.Name)
	}
	if _, found := r.tombstonesOf(long); found != 0 {
		t.Errorf("%d tombstones of %q, which has none", found, long.Name)
	}
}

// Tombstones of before level 1 are found beside later ones.
func TestTombstonesOfBothForms(t *testing.T) {
	r := newRig(t)
	ids := []string{"old", "older", "new"}
	for i, id := range ids {
		if i == 2 {
			r.raise(turn.Level1)
		}
		r.do(&turn.Append{Key: sessionA, Messages: []turn.NewMessage{{ID: id, Data: []byte("x")}}})
		r.do(&turn.Delete{Keys: []turn.Key{sessionA}})
	}
	for _, flushed := range []bool{false, true} {
		if flushed {
			r.flush()
			r.restart()
		}
		for _, id := range ids {
			if again := r.do(&turn.Append{Key: sessionA,
				Messages: []turn.NewMessage{{ID: id, Data: []byte("x")}}}); !again.Duplicate {
				t.Errorf("flushed: %v: %s is not known", flushed, id)
			}
		}
	}
}

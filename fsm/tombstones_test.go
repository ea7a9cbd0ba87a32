package fsm

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/messageids"
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

// The ids of so many messages of deleted sessions of a key are remembered.
func TestBoundOfIDsOfDeletedSessions(t *testing.T) {
	for _, flush := range []bool{false, true} {
		t.Run(fmt.Sprint("flush=", flush), func(t *testing.T) {
			r := newRig(t)
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
				if want := i >= 2; again.Duplicate != want {
					t.Errorf("an id of deleted session %d is known: %v, want %v", i, again.Duplicate, want)
				}
			}
		})
	}
}

// An append looks at so many deleted sessions of its key at most, however few messages they
// had: an entry of appends shall not take seconds.
func TestBoundOfDeletedSessions(t *testing.T) {
	for _, flush := range []bool{false, true} {
		t.Run(fmt.Sprint("flush=", flush), func(t *testing.T) {
			r := newRig(t)
			const more = 20
			for i := range turn.DeletedSessions + more {
				r.do(&turn.Append{Key: sessionA, Messages: newMessages(fmt.Sprint("s", i), 1)})
				r.do(&turn.Delete{Keys: []turn.Key{sessionA}})
				if flush && i%100 == 50 {
					r.flush()
				}
			}
			looked, err := r.m.sessions.IDs.Tombstones(layout.JoinKey(sessionA))
			r.m.keys.EndReading()
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
	const cycles = turn.DeletedSessions
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

// Sessions that were deleted of other keys, even of keys that begin with a key and a NUL, are
// not passed to find those of the key, and not taken for them.
func TestTombstonesOfOtherKeysAreNotPassed(t *testing.T) {
	r := newRig(t)
	key := turn.Key{Namespace: "0", Name: "a"}
	deleted := func(k turn.Key, id string) []turn.Op {
		return []turn.Op{appendOf(k, id, "x"), &turn.Delete{Keys: []turn.Key{k}}}
	}
	r.apply(1, deleted(key, "first")...)
	var others []turn.Op
	for i := range 500 {
		inc := string(binary.BigEndian.AppendUint64(nil, uint64(i+1)))
		for _, name := range []string{fmt.Sprintf("a\x00%07d", i), "a\x00" + inc, "a\x00" + inc + "x", "a" + inc} {
			others = append(others, deleted(turn.Key{Namespace: "0", Name: name}, "other")...)
		}
	}
	r.apply(1, others...)
	r.apply(1, deleted(key, "last")...)
	for _, flushed := range []bool{false, true} {
		if flushed {
			r.flush()
		}
		if n := r.tombstonesOf(key); n < 2 || n > 4 { // later ones are of the appends below
			t.Errorf("flushed: %v: %d are found, of %d", flushed, n, 2)
		}
		for _, id := range []string{"first", "last"} {
			if again := r.do(appendOf(key, id, "x")); !again.Duplicate {
				t.Errorf("flushed: %v: %s is not known", flushed, id)
			}
		}
	}
}

// TombstonesOf returns how many tombstones a walk through those of a key passes.
func (r *rig) tombstonesOf(k turn.Key) (passed int) {
	r.t.Helper()
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	defer r.m.keys.EndReading()
	tx, err := r.m.keys.Reading()
	if err != nil {
		r.t.Fatal(err)
	}
	for w := r.m.keys.Tables.TombstonesOf(tx, layout.JoinKey(k), r.m.keys.Meta.LastInc); w.Next(); {
		passed++
	}
	return passed
}

// Each deleted session is forgotten in its own time: what was deleted later does not keep it. When its
// tombstone is removed is up to each node, and so must not matter.
func TestEachTombstoneHasItsTime(t *testing.T) {
	const t0 = 1_000_000
	other := turn.Key{Namespace: "0", Name: "other"}
	for _, flushed := range []bool{false, true} {
		for at, known := range map[int64]bool{turn.TombstoneTime - 1: true, turn.TombstoneTime: false} {
			r := newRig(t)
			r.apply(t0, appendOf(sessionA, "x", "1"), &turn.Delete{Keys: []turn.Key{sessionA}})
			r.apply(t0+1000, appendOf(other, "x", "1"), &turn.Delete{Keys: []turn.Key{other}})
			r.apply(t0+2000, appendOf(sessionA, "y", "1"), &turn.Delete{Keys: []turn.Key{sessionA}})
			if flushed {
				r.flush()
			}
			for id, want := range map[string]bool{"x": known, "y": true} {
				out := r.apply(t0+at, appendOf(sessionA, id, "1"))[0]
				if out.Err != nil || out.Result.Duplicate != want {
					t.Errorf("%q after %d ms, flushed: %v: %+v, %v; known: %v", id, at, flushed, out.Result, out.Err,
						want)
				}
			}
		}
	}
}

// A moved message has one id, however often it was moved.
func TestMovesWeighNothing(t *testing.T) {
	const least = turn.TombstoneMessages / turn.DeletedSessions
	for _, c := range []struct{ last, moved, want uint64 }{
		{1, 0, least}, {least + 9, 0, least + 9}, {least + 9, 8, least + 1}, {least + 9, 10, least},
		{turn.IDWindow + 9, 0, turn.IDWindow}, {turn.IDWindow + 9, 9, turn.IDWindow},
		{turn.IDWindow + 9, 10, turn.IDWindow - 1},
	} {
		g := layout.Tombstone{Last: c.last, Moves: layout.Moves{Total: c.moved}}
		if got := messageids.TombstoneWeight(&g); got != c.want {
			t.Errorf("%d messages, %d of them moves: %d, want %d", c.last, c.moved, got, c.want)
		}
	}
}

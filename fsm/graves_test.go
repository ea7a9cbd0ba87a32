package fsm

import (
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
			looked, err := r.m.graves(joinKey(sessionA))
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

package fsm

import (
	"fmt"
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/idwindow"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/tags"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

func appendOf(k turn.Key, id, data string) *turn.Append {
	return &turn.Append{Key: k, Messages: []turn.NewMessage{{ID: id, Data: []byte(data)}}}
}

var sessionA = turn.Key{Namespace: "0", Name: "a"}

// The promise is the last 1,024 appended messages: not one less, whatever was
// flushed, trimmed, popped or cleared in between, and not one more, so that every
// node agrees where memory ends.
func TestIDWindowIsExactly1024(t *testing.T) {
	for name, forget := range map[string]turn.Op{
		"kept":     nil,
		"trimmed":  &turn.Trim{Key: sessionA, By: turn.KeepLast, N: 3},
		"popped":   &turn.Pop{Key: sessionA, From: turn.Newest, Count: 500},
		"cleared":  &turn.Clear{Key: sessionA},
		"deleted":  &turn.Delete{Keys: []turn.Key{sessionA}},
		"replaced": &turn.Replace{Key: sessionA, From: 1},
	} {
		for _, flush := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/flush=%v", name, flush), func(t *testing.T) {
				r := newRig(t)
				const n = 1500
				for i := 1; i <= n; i++ {
					r.apply(1, appendOf(sessionA, fmt.Sprint("id", i), fmt.Sprint("data", i)))
					if flush && i%400 == 0 {
						r.flush()
					}
				}
				if forget != nil {
					if out := r.apply(1, forget); out[0].Err != nil {
						t.Fatal(out[0].Err)
					}
				}
				if flush {
					r.restart()
					r.flush()
				}
				oldest := n - 1024 + 1
				for _, i := range []int{n, oldest + 1, oldest} {
					out := r.apply(1, appendOf(sessionA, fmt.Sprint("id", i), fmt.Sprint("data", i)))[0]
					if out.Err != nil || !out.Result.Duplicate || out.Result.First != uint64(i) {
						t.Fatalf("message %d again: %+v, %v; want a duplicate", i, out.Result, out.Err)
					}
					out = r.apply(1, appendOf(sessionA, fmt.Sprint("id", i), "other"))[0]
					if out.Err == nil || out.Err.Kind != turn.IDReused {
						t.Fatalf("id of message %d with another payload: %v", i, out.Err)
					}
				}
				out := r.apply(1, appendOf(sessionA, fmt.Sprint("id", oldest-1), fmt.Sprint("data", oldest-1)))[0]
				if out.Err != nil || out.Result.Duplicate {
					t.Fatalf("message %d, one beyond the window, again: %+v, %v; want it appended", oldest-1,
						out.Result, out.Err)
				}
			})
		}
	}
}

// A session whose head is in the active memtable knows its window, until that is forgotten.
func TestForgottenWindowIsNotAsked(t *testing.T) {
	r := newRig(t)
	for i := range 3 { // the second finds no window, the third has one
		r.apply(1, appendOf(sessionA, fmt.Sprint("id", i), "data"))
	}
	h := r.m.keys.Tables.Active.Heads[layout.JoinKey(sessionA)]
	w := h.Window
	kept := func() bool { return w != nil && r.m.sessions.IDs.Windows.Get(h.Inc) == w }
	if !kept() {
		t.Fatalf("the head knows the window %+v", w)
	}
	for i := 0; kept(); i++ {
		k := turn.Key{Namespace: "0", Name: fmt.Sprint("other", i)}
		r.apply(1, appendOf(k, "a", "data"))
		r.apply(1, appendOf(k, "b", "data"))
		r.m.sessions.IDs.Windows.ShrinkTo(0) // all but one
	}
	for i := range 3 {
		if out := r.apply(1, appendOf(sessionA, fmt.Sprint("id", i), "data"))[0]; !out.Result.Duplicate {
			t.Fatalf("id%d again: %+v, %v; want a duplicate", i, out.Result, out.Err)
		}
	}
	r.apply(1, appendOf(sessionA, "id3", "data"))
	if again := r.m.keys.Tables.Active.Heads[layout.JoinKey(sessionA)].Window; again == w || again.Next != 5 {
		t.Fatalf("after another message the head knows the window %+v", again)
	}
}

func TestIDsOfDeletedSessionAreRememberedTenMinutes(t *testing.T) {
	r := newRig(t)
	const t0 = 1_000_000
	r.apply(t0, appendOf(sessionA, "x", "1"))
	r.apply(t0, &turn.Delete{Keys: []turn.Key{sessionA}})
	r.flush()
	r.apply(t0+1, appendOf(sessionA, "y", "2"))
	if out := r.apply(t0+turn.TombstoneTime-1, appendOf(sessionA, "x", "1"))[0]; !out.Result.Duplicate ||
		out.Result.First != 1 {
		t.Fatalf("just before the end: %+v, %v; want a duplicate", out.Result, out.Err)
	}
	if out := r.apply(t0+turn.TombstoneTime, appendOf(sessionA, "x", "1"))[0]; out.Result.Duplicate || out.Err != nil ||
		out.Result.First != 2 {
		t.Fatalf("at the end: %+v, %v; want it appended", out.Result, out.Err)
	}
	r.flush()
	r.expectEmpty(layout.BucketTombstones, layout.BucketGarbage)
}

// A command that a node sends again after a leader change must take effect once.
func TestTaggedCommandTakesEffectOnce(t *testing.T) {
	r := newRig(t)
	op, err := codec.EncodeOp(appendOf(sessionA, "", "hello"))
	if err != nil {
		t.Fatal(err)
	}
	send := func(number uint64) Outcome {
		return r.applyCommands(1, codec.Command{Origin: 42, Number: number, Op: op})[0]
	}
	if out := send(1); out.Skipped || out.Err != nil || out.Result.First != 1 {
		t.Fatalf("first: %+v", out)
	}
	if out := send(1); !out.Skipped {
		t.Fatalf("again: %+v, want it skipped", out)
	}
	r.flush()
	r.restart()
	if out := send(1); !out.Skipped {
		t.Fatalf("again after a restart: %+v, want it skipped", out)
	}
	// Numbers may arrive out of order within the window.
	if out := send(3); out.Skipped {
		t.Fatal("3 was skipped")
	}
	r.flush()
	if out := send(2); out.Skipped {
		t.Fatal("2 after 3 was skipped")
	}
	if out := send(2 + tags.Window); out.Skipped {
		t.Fatal("a far later number was skipped")
	}
	for _, n := range []uint64{1, 2, 3} {
		if out := send(n); !out.Skipped {
			t.Fatalf("%d, before or in the window, was applied again", n)
		}
	}
	if out := send(4); out.Skipped {
		t.Fatal("4, in the window and never seen, was skipped")
	}
	if out := send(10 * tags.Window); out.Skipped {
		t.Fatal("a number beyond the window was skipped")
	}
	// Its place in the window was taken by number 3 before.
	if out := send(9*tags.Window + 3); out.Skipped {
		t.Fatal("a number never seen was skipped")
	}
	if got := r.query(&turn.Info{Key: sessionA}).Count; got != 7 {
		t.Fatalf("%d messages, want 7", got)
	}
}

// A fingerprint that two ids share makes neither known by the other.
func TestFingerprintsThatCollide(t *testing.T) {
	for _, data := range []string{"data", "other data"} {
		r := newRig(t)
		id, other := r.collidingIDs()
		r.apply(1, appendOf(sessionA, id, "data"))
		r.apply(1, appendOf(sessionA, id, "data")) // so that there is a window
		h, _ := r.m.keys.Tables.Head(layout.JoinKey(sessionA))
		looked := false
		r.m.sessions.IDs.Windows.Get(h.Inc).Find(r.m.sessions.IDs.Windows.Print(other), func(uint64) bool {
			looked = true
			return true
		})
		if !looked {
			t.Fatalf("the window does not take %q for %q", other, id)
		}
		if out := r.apply(1, appendOf(sessionA, other, data))[0]; out.Err != nil || out.Result.Duplicate {
			t.Errorf("%q is taken for the message with the id %q: %+v, %v", other, id, out.Result, out.Err)
		}
		out := r.apply(1, appendOf(sessionA, id, "data"))[0]
		if out.Err != nil || !out.Result.Duplicate || out.Result.First != 1 {
			t.Errorf("%q again: %+v, %v; want it to be message 1", id, out.Result, out.Err)
		}
	}
}

// collidingIDs returns two ids that have the same fingerprint on this node.
func (r *rig) collidingIDs() (id, other string) {
	byPrint := make(map[uint32]string)
	for i := 0; ; i++ {
		other = fmt.Sprint("id", i)
		print := r.m.sessions.IDs.Windows.Print(other)
		if id, found := byPrint[print]; found {
			return id, other
		}
		byPrint[print] = other
	}
}

// Seqs of a deleted session and of the one after it may follow each other: messages of the two were not
// one append.
func TestIDsOfTwoSessionsAreNoAppend(t *testing.T) {
	r := newRig(t)
	r.apply(1, appendOf(sessionA, "a", "1"), &turn.Delete{Keys: []turn.Key{sessionA}}, appendOf(sessionA, "x", "2"),
		appendOf(sessionA, "b", "3"))
	both := appendOf(sessionA, "a", "1")
	both.Messages = append(both.Messages, turn.NewMessage{ID: "b", Data: []byte("3")})
	if out := r.apply(1, both)[0]; out.Err == nil || out.Err.Kind != turn.Conflict {
		t.Errorf("%+v, %v; want a conflict", out.Result, out.Err)
	}
}

// Messages are a duplicate only as one append, whole and in its order, however many others are
// known by their ids.
func TestKnownMessagesThatAreNoOneAppend(t *testing.T) {
	r := newRig(t)
	batch := func(ids string) *turn.Append {
		o := &turn.Append{Key: sessionA}
		for _, id := range ids {
			o.Messages = append(o.Messages, turn.NewMessage{ID: string(id), Data: []byte("of " + string(id))})
		}
		return o
	}
	r.apply(1, batch("a"), batch("bcd"), batch("e"))
	for _, flushed := range []bool{false, true} {
		if flushed {
			r.flush()
		}
		for _, ids := range []string{"acd", "abd", "abce", "ba", "cb", "aa", "abx", "xa", "axb", "abcdex"} {
			out := r.apply(1, batch(ids))[0]
			if out.Err == nil || out.Err.Kind != turn.Conflict || out.Err.Revision != 3 {
				t.Errorf("%q, flushed: %v: %+v, %v; want a conflict at revision 3", ids, flushed, out.Result, out.Err)
			}
		}
		for ids, first := range map[string]uint64{"a": 1, "bcd": 2, "bc": 2, "cd": 3, "abcde": 1} {
			out := r.apply(1, batch(ids))[0]
			last := first + uint64(len(ids)) - 1
			if got := out.Result; out.Err != nil || !got.Duplicate || got.First != first || got.Last != last ||
				got.Count != 5 {
				t.Errorf("%q, flushed: %v: %+v, %v; want a duplicate of messages %d to %d", ids, flushed, got, out.Err,
					first, last)
			}
		}
	}
}

// The windows that are kept have so many bytes together, however many sessions there are.
func TestWindowsAreBounded(t *testing.T) {
	r := newRig(t)
	const most = 4
	r.m.sessions.IDs.Windows = idwindow.New(most * 16 * 5) // smallest windows
	for i := range 100 {
		k := turn.Key{Namespace: "0", Name: fmt.Sprint(i)}
		r.apply(1, appendOf(k, "a", "1"))
		r.apply(1, appendOf(k, "b", "1"))
	}
	kept := 0
	for inc := range r.m.keys.Meta.LastInc {
		if r.m.sessions.IDs.Windows.Get(inc+1) != nil {
			kept++
		}
	}
	if kept == 0 || kept > most {
		t.Errorf("%d windows are kept, there is room for %d", kept, most)
	}
}

package fsm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

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
	r.m.windows.max = 4 * smallWindow
	for i := range 3 { // the second finds no window, the third has one
		r.apply(1, appendOf(sessionA, fmt.Sprint("id", i), "data"))
	}
	w := r.m.active.heads[joinKey(sessionA)].window
	if w == nil || w.forgotten {
		t.Fatalf("the head knows the window %+v", w)
	}
	for i := 0; !w.forgotten; i++ {
		k := turn.Key{Namespace: "0", Name: fmt.Sprint("other", i)}
		r.apply(1, appendOf(k, "a", "data"))
		r.apply(1, appendOf(k, "b", "data"))
	}
	for i := range 3 {
		if out := r.apply(1, appendOf(sessionA, fmt.Sprint("id", i), "data"))[0]; !out.Result.Duplicate {
			t.Fatalf("id%d again: %+v, %v; want a duplicate", i, out.Result, out.Err)
		}
	}
	r.apply(1, appendOf(sessionA, "id3", "data"))
	if again := r.m.active.heads[joinKey(sessionA)].window; again == w || again.next != 5 {
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
	r.expectEmpty(bucketTombstones, bucketGarbage)
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
	if out := send(2 + tagWindow); out.Skipped {
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
	if out := send(10 * tagWindow); out.Skipped {
		t.Fatal("a number beyond the window was skipped")
	}
	// Its place in the window was taken by number 3 before.
	if out := send(9*tagWindow + 3); out.Skipped {
		t.Fatal("a number never seen was skipped")
	}
	if got := r.query(&turn.Info{Key: sessionA}).Count; got != 7 {
		t.Fatalf("%d messages, want 7", got)
	}
}

func TestTagWindowsSurviveEncoding(t *testing.T) {
	a := make(tags)
	for i := range uint64(3000) {
		a.take(i%5+1, i*i%90_000+1, i)
	}
	b, err := decodeTags(a.encode())
	if err != nil {
		t.Fatal(err)
	}
	for o, n := range a {
		if m := b[o]; m == nil || m.max != n.max || m.used != n.used {
			t.Fatalf("origin %d: %v, want max %d", o, m, n.max)
		}
		for i := n.low(); i <= n.max; i++ {
			if n.has(i) != b[o].has(i) {
				t.Fatalf("origin %d number %d: %v, want %v", o, i, b[o].has(i), n.has(i))
			}
		}
	}
	for o := range uint64(2 * maxOrigins) {
		a.take(o+100, 1, 10_000+o)
	}
	if len(a) != maxOrigins || a[100+2*maxOrigins-1] == nil || a[1] != nil {
		t.Fatalf("%d origins are kept, want the %d used last", len(a), maxOrigins)
	}
}

// A window finds what a plain search of the last messages finds, in the same order,
// wherever its ring begins.
func TestWindowFindsLikeAPlainSearch(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	w := window{next: 1}
	var prints []uint32 // of seq 1, 2, …
	for range 3 * turn.IDWindow {
		p := uint32(rnd.IntN(40))
		w.note(uint64(len(prints)+1), p)
		prints = append(prints, p)
		if len(prints) > 200 && rnd.IntN(20) > 0 {
			continue
		}
		wanted, most := uint32(rnd.IntN(41)), rnd.IntN(5)+1
		var want, got []uint64
		for i := len(prints); i > max(0, len(prints)-turn.IDWindow) && len(want) < most; i-- {
			if prints[i-1] == wanted {
				want = append(want, uint64(i))
			}
		}
		w.find(wanted, func(seq uint64) bool {
			got = append(got, seq)
			return len(got) == most
		})
		if !slices.Equal(got, want) {
			t.Fatalf("after %d messages, %d was found at %v, want %v", len(prints), wanted, got, want)
		}
	}
}

func BenchmarkWindowMiss(b *testing.B) {
	for _, n := range []int{16, 100, turn.IDWindow} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := window{next: 1}
			for i := range uint64(n) {
				w.note(i+1, uint32(i)|1)
			}
			for b.Loop() {
				w.find(0, func(uint64) bool { return true })
			}
		})
	}
}

// A fingerprint that two ids share makes neither known by the other.
func TestFingerprintsThatCollide(t *testing.T) {
	r := newRig(t)
	r.apply(1, appendOf(sessionA, "id", "data"))
	r.apply(1, appendOf(sessionA, "id", "data")) // so that there is a window
	h, _ := r.m.headIn(joinKey(sessionA))
	w := r.m.windows.get(h.Inc)
	at := w.at(1)
	for other, data := range map[string]string{"other": "data", "another": "other data"} {
		print := r.m.windows.print(other)
		w.prints[at], w.few[at] = print, abridge(print)
		if out := r.apply(1, appendOf(sessionA, other, data))[0]; out.Err != nil || out.Result.Duplicate {
			t.Errorf("%q is taken for the message with the id %q: %+v, %v", other, "id", out.Result, out.Err)
		}
	}
}

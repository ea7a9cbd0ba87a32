package idwindow

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// A window finds what a plain search of the last messages finds, in the same order,
// wherever its ring begins.
func TestWindowFindsLikeAPlainSearch(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	w := ring{Next: 1}
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
		w.Find(wanted, func(seq uint64) bool {
			got = append(got, seq)
			return len(got) == most
		})
		if !slices.Equal(got, want) {
			t.Fatalf("after %d messages, %d was found at %v, want %v", len(prints), wanted, got, want)
		}
	}
}

// Several ids are looked for at once, as each would be. Messages of which there is no record count.
func TestAmongFindsLikeAPlainSearch(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	w := ring{Next: 1}
	prints := map[uint64]uint32{} // by seq
	for seq := uint64(1); seq < 4*turn.IDWindow; seq += uint64(1 + max(0, rnd.IntN(12)-7)) {
		prints[seq] = uint32(rnd.IntN(3) * rnd.IntN(1<<18)) // often 0, as without an id
		w.note(seq, prints[seq])
		if w.Next != seq+1 {
			t.Fatalf("after message %d comes %d", seq, w.Next)
		}
		if seq > 100 && rnd.IntN(40) > 0 {
			continue
		}
		set, wanted := NewPrints(4), make(map[uint32]bool)
		for range 4 {
			print := prints[seq-uint64(rnd.IntN(int(min(seq, 2*turn.IDWindow))))]
			set.Add(print)
			wanted[print] = true
		}
		var want, got []uint64
		for s := seq; s > 0 && s+turn.IDWindow > seq; s-- {
			if wanted[prints[s]] && prints[s] != 0 {
				want = append(want, s)
			}
		}
		w.Among(set, func(s uint64, print uint32) {
			if print != prints[s] {
				t.Fatalf("message %d has the print %d, not %d", s, prints[s], print)
			}
			got = append(got, s)
		})
		if !slices.Equal(got, want) {
			t.Fatalf("after message %d, those at %v were found, want %v", seq, got, want)
		}
		for _, print := range prints {
			if set.Has(print) != wanted[print] {
				t.Fatalf("print %d is in the set: %v", print, !wanted[print])
			}
		}
	}
}

// Of the windows that take too much, those stay that were used since they were spared last.
func TestUsedWindowsAreSpared(t *testing.T) {
	const each = smallWindow // places
	w := New(3 * each * placeBytes)
	for inc := range uint64(3) {
		w.Note(w.Add(inc+1, 1), 1, "id")
	}
	w.Shrink()
	first, second := w.Get(1), w.Get(2)
	if first == nil || second == nil || w.places != 3*each {
		t.Fatalf("%d places are taken, there is space for three windows", w.places)
	}
	second.used = false
	w.Note(w.Add(4, 1), 1, "id")
	w.Shrink()
	if w.Get(2) != nil || w.Of(2, second) != nil || w.Of(1, first) != first || w.Get(3) == nil || w.Get(4) == nil ||
		w.places != 3*each {
		t.Errorf("windows %v are kept, of %d places", slices.Sorted(maps.Keys(w.byInc)), w.places)
	}
	if first.used = false; w.Of(1, first) != first || !first.used {
		t.Error("a look-up does not count as use")
	}
	for range 3 {
		w.Get(1)
		w.ShrinkTo(0)
	}
	if len(w.byInc) != 1 || w.clock.Len() != 1 {
		t.Errorf("windows %v are kept, one would do", slices.Sorted(maps.Keys(w.byInc)))
	}
	if w.Clear(); w.places != 0 || len(w.byInc) != 0 || w.clock.Len() != 0 {
		t.Errorf("after Clear, windows %v are kept", slices.Sorted(maps.Keys(w.byInc)))
	}
}

func BenchmarkWindowMiss(b *testing.B) {
	for _, n := range []int{16, 100, turn.IDWindow} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := ring{Next: 1}
			for i := range uint64(n) {
				w.note(i+1, uint32(i)|1)
			}
			for b.Loop() {
				w.Find(0, func(uint64) bool { return true })
			}
		})
	}
}

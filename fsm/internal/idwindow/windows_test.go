package idwindow

import (
	"fmt"
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

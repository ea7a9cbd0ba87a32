package layout

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A set of seqs that was handed out stays as it is, and each new one holds what was
// added, in the fewest ranges.
func TestSpansAgainstASet(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var s Spans
		want := make(map[uint64]bool)
		for range 40 {
			before, kept := s, slices.Clone(s)
			if rnd.IntN(2) == 0 {
				var n Spans
				for at := uint64(1 + rnd.IntN(60)); at < 100 && len(n) < 4; at += uint64(1 + rnd.IntN(9)) {
					n = append(n, Span{at, at + uint64(rnd.IntN(3))})
					at = n[len(n)-1].To + 1
				}
				s = s.With(n)
				for _, x := range n {
					for seq := x.From; seq <= x.To; seq++ {
						want[seq] = true
					}
				}
			} else {
				from := uint64(1 + rnd.IntN(100))
				x := Span{from, from + uint64(rnd.IntN(3))}
				s = s.Add(x)
				top := x.To
				for seq := range want {
					top = max(top, seq)
				}
				for seq := x.From; seq <= top; seq++ {
					want[seq] = true
				}
			}
			if !slices.Equal(before, kept) {
				t.Fatalf("seed %d: %v became %v under its reader", seed, kept, before)
			}
			checkSpans(t, s, want)
		}
	}
}

func checkSpans(t *testing.T, s Spans, want map[uint64]bool) {
	t.Helper()
	for seq := range uint64(130) {
		if s.Has(seq) != want[seq] {
			t.Fatalf("%v has %d: %v, want %v", s, seq, s.Has(seq), want[seq])
		}
	}
	for i := 1; i < len(s); i++ {
		if s[i].From <= s[i-1].To+1 {
			t.Fatalf("%v: ranges overlap or adjoin", s)
		}
	}
}

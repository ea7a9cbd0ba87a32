package fsm

import (
	"fmt"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// BenchmarkTakeLowest asks for the lowest member of a stored sorted set and removes it, until
// the set is empty: the time for one must not grow with how many were removed.
func BenchmarkTakeLowest(b *testing.B) {
	for _, n := range []int{2_000, 20_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			m, index := benchValues(b), uint64(0)
			do := func(op turn.Op) {
				index++
				if out := m.Apply(index, 1, encodeEntryOf(b, op)); out[0].Err != nil {
					b.Fatal(out[0].Err)
				}
			}
			key := turn.Key{Namespace: "0", Name: "set"}
			left := 0
			for b.Loop() {
				if left == 0 {
					b.StopTimer()
					add := &turn.SetScores{Key: key}
					for ; left < n; left++ {
						add.Members = append(add.Members, turn.Score{Member: fmt.Sprint(left), Score: float64(left)})
					}
					do(add)
					if err := m.Flush(b.Context()); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
				r, err := m.Query(&turn.Scores{Key: key, By: turn.ByRank})
				if err != nil {
					b.Fatal(err)
				}
				do(&turn.RemoveFields{Key: key, Type: turn.TypeZSet, Names: []string{r.Elements[0].Name}})
				left--
			}
		})
	}
}

// BenchmarkRemoveSome removes members of a stored sorted set in an order that leaves others
// in between: no walk passes them.
func BenchmarkRemoveSome(b *testing.B) {
	const n = 50_000
	m, index := benchValues(b), uint64(0)
	do := func(op turn.Op) {
		index++
		m.Apply(index, 1, encodeEntryOf(b, op))
	}
	key := turn.Key{Namespace: "0", Name: "set"}
	for i := 0; b.Loop(); i++ {
		if i%n == 0 {
			b.StopTimer()
			add := &turn.SetScores{Key: key}
			for j := range n {
				add.Members = append(add.Members, turn.Score{Member: fmt.Sprint(j), Score: float64(j)})
			}
			do(add)
			if err := m.Flush(b.Context()); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
		do(&turn.RemoveFields{Key: key, Type: turn.TypeZSet, Names: []string{fmt.Sprint(i % n * 7919 % n)}})
	}
}

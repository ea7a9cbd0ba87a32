package tags

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// What was handed out for a flush stays as it was, while numbers are taken on.
func TestSharedTagsStayAsTheyWere(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	live, twin := make(Set), make(Set) // the same, but nothing is handed out of twin
	var handed []Set
	var want [][]byte
	next := uint64(0)
	for index := range uint64(2_000) {
		origin, number := uint64(1+rnd.IntN(5)), next+uint64(rnd.IntN(40))
		if rnd.IntN(3) > 0 {
			next++
		}
		if got, want := live.Take(origin, number, index), twin.Take(origin, number, index); got != want {
			t.Fatalf("%d of %d is new: %v, want %v", number, origin, got, want)
		}
		if index%100 == 0 {
			handed, want = append(handed, live.Share()), append(want, twin.Encode())
		}
	}
	for i := range handed {
		if !bytes.Equal(handed[i].Encode(), want[i]) {
			t.Errorf("copy %d has changed since", i)
		}
	}
}

// Runs of numbers that were taken are passed over, and no gap with them.
func TestEncodedTagsHaveAllGaps(t *testing.T) {
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		all := make(Set)
		gaps := make(map[uint64]bool)
		last := uint64(100 + rnd.IntN(2*Window))
		for n := uint64(1); n <= last; n++ {
			if gaps[n] = rnd.IntN(500) == 0 && n < last; !gaps[n] {
				all.Take(1, n, 1)
			}
		}
		back, err := Decode(all.Encode())
		if err != nil {
			t.Fatal(err)
		}
		for n := all[1].low(); n <= last; n++ {
			if n > 0 && back[1].has(n) == gaps[n] {
				t.Fatalf("seed %d: %d of %d is taken: %v", seed, n, last, back[1].has(n))
			}
		}
	}
}

func BenchmarkTagsAtFreeze(b *testing.B) {
	all := make(Set)
	for origin := range uint64(maxOrigins) {
		for n := range uint64(Window) {
			all.Take(origin+1, n+1, 1)
		}
	}
	b.Run("share", func(b *testing.B) {
		for b.Loop() {
			all.Share()
		}
	})
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			all.Encode()
		}
	})
}

func TestTagWindowsSurviveEncoding(t *testing.T) {
	a := make(Set)
	for i := range uint64(3000) {
		a.Take(i%5+1, i*i%90_000+1, i)
	}
	b, err := Decode(a.Encode())
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
		a.Take(o+100, 1, 10_000+o)
	}
	if len(a) != maxOrigins || a[100+2*maxOrigins-1] == nil || a[1] != nil {
		t.Fatalf("%d origins are kept, want the %d used last", len(a), maxOrigins)
	}
}

// A number is taken once, in whatever order numbers come and however far apart they are. One that is so
// many below the highest that it is not known any more counts as taken.
func TestEachNumberIsTakenOnce(t *testing.T) {
	jumps := []uint64{2, 63, 64, 65, 1000, Window - 64, Window - 1, Window, Window + 1, Window + 64, 3 * Window}
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 4))
		set, taken, highest := make(Set), make(map[uint64]bool), uint64(0)
		edges := []uint64{1} // of what was known at some time
		for index := range uint64(4_000) {
			var number uint64
			switch rnd.IntN(20) {
			case 0:
				number = highest + jumps[rnd.IntN(len(jumps))]
			case 1, 2, 3, 4:
				number = highest + uint64(rnd.IntN(4))
			case 5:
				number = max(highest, Window) - Window + uint64(rnd.IntN(3))
			default:
				number = min(highest, edges[max(0, len(edges)-1-rnd.IntN(20))]+uint64(rnd.IntN(3)))
			}
			want := (highest < Window || number > highest-Window) && !taken[number]
			if got := set.Take(7, number, index); got != want {
				t.Fatalf("seed %d: %d is new: %v, want %v; the highest is %d", seed, number, got, want, highest)
			}
			taken[number] = true
			if number > highest {
				edges = append(edges, highest, number-1)
				highest = number
			}
			if index%500 == 499 {
				var err error
				if set, err = Decode(set.Encode()); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// The origin that was used least lately is forgotten for a new one: of several, the lowest, on all nodes.
func TestOriginUsedLeastLatelyIsForgotten(t *testing.T) {
	set := make(Set)
	for o := range uint64(maxOrigins) {
		set.Take(o+1, 1, 5)
	}
	set.Take(1, 2, 6)
	set.Take(3, 2, 6)
	for _, forgotten := range []uint64{2, 4, 5} {
		set.Take(1000+forgotten, 1, 7)
		if len(set) != maxOrigins || set[forgotten] != nil || set[1] == nil || set[3] == nil || set[6] == nil {
			t.Errorf("origin %d is known: %v; %d are", forgotten, set[forgotten] != nil, len(set))
		}
	}
}

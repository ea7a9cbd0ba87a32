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

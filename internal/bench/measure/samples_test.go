package measure

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Splitting and cutting samples are held against looking at every pair of an
// operation and a span.
func TestSamplesAgainstPairs(t *testing.T) {
	begin := time.Unix(1000, 0)
	at := func(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 0))
		all := Samples{Begin: begin}
		type operation struct{ begun, ended time.Time }
		var ops []operation
		for ms := range 1000 {
			if r.IntN(3) == 0 {
				o := operation{at(ms - r.IntN(min(ms+1, 50))), at(ms)}
				ops = append(ops, o)
				all.Add(o.begun, o.ended)
			}
		}
		var spans []Span
		for range r.IntN(8) {
			from := r.IntN(1000)
			spans = append(spans, Span{at(from), at(from + r.IntN(100))})
		}
		window := Span{at(200), at(700)}
		busy, inWindow := 0, 0
		for _, o := range ops {
			if slices.ContainsFunc(spans,
				func(p Span) bool { return !p.To.Before(o.begun) && !p.From.After(o.ended) }) {
				busy++
			}
			if !o.ended.Before(window.From) && o.ended.Before(window.To) {
				inWindow++
			}
		}
		during, without := all.Split(spans)
		if int(during.Total()) != busy || int(without.Total()) != len(ops)-busy {
			t.Errorf("seed %d: %d operations during, %d without; want %d and %d", seed, during.Total(), without.Total(),
				busy, len(ops)-busy)
		}
		if got := all.Within(window).Total(); int(got) != inWindow {
			t.Errorf("seed %d: %d operations in the window, want %d", seed, got, inWindow)
		}
	}
}

func TestMergeAndShare(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	spans := []Span{{at(50), at(60)}, {at(10), at(20)}, {at(15), at(17)}, {at(20), at(25)}, {at(90), at(120)}}
	want := []Span{{at(10), at(25)}, {at(50), at(60)}, {at(90), at(120)}}
	if got := merge(spans); !slices.Equal(got, want) {
		t.Errorf("merged: %v", got)
	}
	if got := Share(spans, Span{at(0), at(100)}); got != 0.35 { // 15 + 10 + 10 of 100
		t.Errorf("share %v", got)
	}
	if got := Share(nil, Span{at(0), at(1)}); got != 0 {
		t.Errorf("share of nothing %v", got)
	}
}

package bench

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/testcluster"
)

// Splitting and cutting samples are held against looking at every pair of an
// operation and a span.
func TestSamplesAgainstPairs(t *testing.T) {
	begin := time.Unix(1000, 0)
	at := func(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 0))
		all := samples{begin: begin}
		type operation struct{ begun, ended time.Time }
		var ops []operation
		for ms := range 1000 {
			if r.IntN(3) == 0 {
				o := operation{at(ms - r.IntN(min(ms+1, 50))), at(ms)}
				ops = append(ops, o)
				all.add(o.begun, o.ended)
			}
		}
		var spans []span
		for range r.IntN(8) {
			from := r.IntN(1000)
			spans = append(spans, span{at(from), at(from + r.IntN(100))})
		}
		window := span{at(200), at(700)}
		busy, inWindow := 0, 0
		for _, o := range ops {
			if slices.ContainsFunc(spans,
				func(p span) bool { return !p.to.Before(o.begun) && !p.from.After(o.ended) }) {
				busy++
			}
			if !o.ended.Before(window.from) && o.ended.Before(window.to) {
				inWindow++
			}
		}
		during, without := all.split(spans)
		if int(during.Total()) != busy || int(without.Total()) != len(ops)-busy {
			t.Errorf("seed %d: %d operations during, %d without; want %d and %d", seed, during.Total(), without.Total(),
				busy, len(ops)-busy)
		}
		if got := all.within(window).Total(); int(got) != inWindow {
			t.Errorf("seed %d: %d operations in the window, want %d", seed, got, inWindow)
		}
	}
}

func TestMergeAndShare(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	spans := []span{{at(50), at(60)}, {at(10), at(20)}, {at(15), at(17)}, {at(20), at(25)}, {at(90), at(120)}}
	want := []span{{at(10), at(25)}, {at(50), at(60)}, {at(90), at(120)}}
	if got := merge(spans); !slices.Equal(got, want) {
		t.Errorf("merged: %v", got)
	}
	if got := share(spans, span{at(0), at(100)}); got != 0.35 { // 15 + 10 + 10 of 100
		t.Errorf("share %v", got)
	}
	if got := share(nil, span{at(0), at(1)}); got != 0 {
		t.Errorf("share of nothing %v", got)
	}
}

// A load that loses half of its speed, while a node flushes from the tenth second
// to the twentieth: the figures say so.
func TestGrowthDigest(t *testing.T) {
	begin := time.Unix(1000, 0)
	all := samples{begin: begin}
	second := func(s float64) time.Time { return begin.Add(time.Duration(s * float64(time.Second))) }
	for i := range 4000 { // 100 a second
		took := 2 * time.Millisecond
		if i >= 1000 && i < 2000 {
			took = 8 * time.Millisecond
		}
		if i < 2000 || i%2 == 0 { // 50 a second
			now := second(float64(i) / 100)
			all.add(now.Add(-took), now)
		}
	}
	w := &watch{nodes: make([]*testcluster.Node, 1), busy: []span{{second(10), second(19.985)}}, looks: []look{
		{at: second(5), rss: []uint64{10}}, {at: second(20.5), flushes: 1, rss: []uint64{30}},
		{at: second(39), snapshots: 2, rss: []uint64{20}},
	}}
	var g GrowthFigures
	g.digest(&all, w, 10*time.Second)
	if len(g.Intervals) != 4 || g.Intervals[3].Stored != 3000 || g.Intervals[2].Flushes != 1 ||
		g.Intervals[3].Snapshots != 2 || g.Intervals[2].RSS[0] != 30 {
		t.Errorf("intervals: %+v", g.Intervals)
	}
	near := func(got, want float64) bool { return got > want*0.98 && got < want*1.02 }
	if !near(g.First, 100) || !near(g.Last, 50) || !near(g.PerSecond, 75) || !near(g.Busy, 0.25) {
		t.Errorf("first %v, last %v, all %v per second; busy %v", g.First, g.Last, g.PerSecond, g.Busy)
	}
	if !near(float64(g.BusyP99), 8e6) || !near(float64(g.OtherP99), 2e6) || g.Flushes != 1 || g.Snapshots != 2 ||
		g.RSS[0] != 30 {
		t.Errorf("%+v", g)
	}
}

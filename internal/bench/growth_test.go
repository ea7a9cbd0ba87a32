package bench

import (
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/bench/measure"
	"github.com/turnlog/turnlog/internal/testcluster"
)

// A load that loses half of its speed, while a node flushes from the tenth second
// to the twentieth: the figures say so.
func TestGrowthDigest(t *testing.T) {
	begin := time.Unix(1000, 0)
	all := measure.Samples{Begin: begin}
	second := func(s float64) time.Time { return begin.Add(time.Duration(s * float64(time.Second))) }
	for i := range 4000 { // 100 a second
		took := 2 * time.Millisecond
		if i >= 1000 && i < 2000 {
			took = 8 * time.Millisecond
		}
		if i < 2000 || i%2 == 0 { // 50 a second
			now := second(float64(i) / 100)
			all.Add(now.Add(-took), now)
		}
	}
	w := &watch{nodes: make([]*testcluster.Node, 1), busy: []measure.Span{{From: second(10), To: second(19.985)}},
		looks: []look{
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

package measure

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Quantiles are held against those of a sorted list: never lower, and at most one
// bucket higher.
func TestQuantiles(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		var h Histogram
		var all []time.Duration
		for range 1 + r.IntN(3000) {
			d := time.Duration(r.Uint64N(1 << (1 + r.IntN(40))))
			h.Record(d)
			all = append(all, d)
		}
		slices.Sort(all)
		for _, share := range []float64{0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1} {
			exact := all[min(max(int(share*float64(len(all))+0.999999), 1), len(all))-1]
			got := h.Quantile(share)
			if got < exact || float64(got) > float64(exact)*(1+1.0/subs) {
				t.Errorf("seed %d, %d durations: quantile %v is %d, exactly %d", seed, len(all), share, got, exact)
			}
		}
		if h.Max() != all[len(all)-1] || h.Total() != uint64(len(all)) {
			t.Errorf("seed %d: max %v, total %d", seed, h.Max(), h.Total())
		}
	}
}

func TestBucketsJoin(t *testing.T) {
	for bucket := range len(Histogram{}.counts) - 1 {
		end := upperEnd(bucket)
		if bucketOf(end) != bucket || bucketOf(end+1) != bucket+1 {
			t.Fatalf("bucket %d should end at %d; that is in %d, the next number in %d", bucket, end, bucketOf(end),
				bucketOf(end+1))
		}
	}
	if last := len(Histogram{}.counts) - 1; bucketOf(1<<64-1) != last {
		t.Errorf("the highest number is in bucket %d of %d", bucketOf(1<<64-1), last)
	}
}

func TestHistogramOfNothing(t *testing.T) {
	var h, other Histogram
	if h.Quantile(0.5) != 0 {
		t.Error("a quantile of nothing")
	}
	h.Record(-time.Second)
	other.Record(time.Hour)
	h.Add(&other)
	if h.Total() != 2 || h.Max() != time.Hour || h.Quantile(0.5) != 0 || h.Quantile(1) != time.Hour {
		t.Errorf("total %d, max %v, median %v, highest %v", h.Total(), h.Max(), h.Quantile(0.5), h.Quantile(1))
	}
}

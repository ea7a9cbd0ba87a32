package histogram

import (
	"testing"
	"time"
)

// A histogram has each duration in the buckets of all bounds above it.
func TestDurations(t *testing.T) {
	h := New(10*time.Microsecond, 50*time.Microsecond, time.Second)
	for _, d := range []time.Duration{0, 10 * time.Microsecond, 11 * time.Microsecond, time.Second, time.Minute} {
		h.Add(d)
	}
	got := h.Report()
	if got.Count != 5 || got.Buckets[1e-5] != 2 || got.Buckets[5e-5] != 3 || got.Buckets[1] != 4 ||
		len(got.Buckets) != 3 || got.Seconds < 61 || got.Seconds > 61.1 {
		t.Errorf("%+v", got)
	}
}

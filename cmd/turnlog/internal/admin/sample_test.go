package admin

import (
	"math"
	"strings"
	"testing"
	"time"
)

func sampled(t *testing.T, seconds int, text string) *sample {
	t.Helper()
	s, err := parseSample(strings.NewReader(text), time.Unix(int64(seconds), 0))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const histogram = `# TYPE h histogram
h_bucket{of="a",le="0.1"} 10
h_bucket{of="a",le="1"} 10
h_bucket{of="a",le="+Inf"} 10
h_sum{of="a"} 1
h_count{of="a"} 10
`

func TestRateOverLabelsAndRestarts(t *testing.T) {
	before := sampled(t, 10, "# TYPE c counter\nc{x=\"1\"} 5\nc{x=\"2\"} 7\n"+histogram)
	after := sampled(t, 12, "# TYPE c counter\nc{x=\"1\"} 6\nc{x=\"2\"} 9\nc{x=\"3\"} 1\n"+histogram)
	if got := after.rate(before, "c", "h", "absent"); got != 2 {
		t.Errorf("16 of 12 after two seconds are %v a second", got)
	}
	restarted := sampled(t, 14, "# TYPE c counter\nc{x=\"1\"} 3\n")
	if got := restarted.rate(after, "c"); got != 1.5 {
		t.Errorf("3 in the two seconds since a start are %v a second", got)
	}
}

func TestQuantileOfWhatCameSince(t *testing.T) {
	before := sampled(t, 10, histogram)
	after := sampled(t, 12, histogram+`h_bucket{of="b",le="0.1"} 50
h_bucket{of="b",le="1"} 100
h_bucket{of="b",le="+Inf"} 100
h_sum{of="b"} 1
h_count{of="b"} 100
`)
	for q, want := range map[float64]float64{0.25: 0.05, 0.5: 0.1, 0.75: 0.55, 1: 1} {
		if got, ok := after.quantile(before, q, "h"); !ok || math.Abs(got-want) > 1e-9 {
			t.Errorf("quantile %v: %v, %v; want %v", q, got, ok, want)
		}
	}
	if got, ok := before.quantile(before, 0.99, "h"); ok {
		t.Errorf("of nothing, the quantile is %v", got)
	}
	if got, ok := before.quantile(after, 0.5, "h"); !ok || got != 0.05 { // started again
		t.Errorf("since a start, the median is %v, %v", got, ok)
	}
	slow := sampled(t, 14, strings.Replace(histogram, `le="+Inf"} 10`, `le="+Inf"} 1000`, 1))
	if got, ok := slow.quantile(before, 0.99, "h"); !ok || got != 1 {
		t.Errorf("of what is above all bounds, the quantile is %v, %v; want the highest bound", got, ok)
	}
	if _, ok := after.quantile(before, 0.5, "absent"); ok {
		t.Error("an absent histogram has a quantile")
	}
}

package admin

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
)

// maxMetricsBytes bounds what is read of a node's metrics, which take some tens of KiB.
const maxMetricsBytes = 16 << 20

// sample is what a node's metrics say at one moment.
type sample struct {
	at       time.Time
	families map[string]*dto.MetricFamily
}

// sampleOf asks the node at an HTTP address.
func sampleOf(ctx context.Context, a *cli.App, addr string) (*sample, error) {
	if addr == "" {
		return nil, fmt.Errorf("the node has announced no HTTP address")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	res, err := a.Send(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, cli.ResponseError(res)
	}
	return parseSample(io.LimitReader(res.Body, maxMetricsBytes), time.Now())
}

func parseSample(r io.Reader, at time.Time) (*sample, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(r)
	return &sample{at, families}, err
}

// sum adds up a metric over its labels.
func (s *sample) sum(name string) (total float64) {
	for _, m := range s.families[name].GetMetric() {
		switch {
		case m.Counter != nil:
			total += m.Counter.GetValue()
		case m.Gauge != nil:
			total += m.Gauge.GetValue()
		case m.Histogram != nil:
			total += float64(m.Histogram.GetSampleCount())
		}
	}
	return total
}

// rate returns by how much counters grew a second since an earlier sample; what a node that was started again
// counted before is not known.
func (s *sample) rate(since *sample, names ...string) (perSecond float64) {
	for _, name := range names {
		grown := s.sum(name) - since.sum(name)
		if grown < 0 {
			grown = s.sum(name)
		}
		perSecond += grown
	}
	return perSecond / max(s.at.Sub(since.at).Seconds(), 1e-3)
}

// quantile estimates a quantile of what a histogram took in since an earlier sample, from its buckets, as Prometheus
// does: evenly distributed within a bucket. It returns false if nothing came in.
func (s *sample) quantile(since *sample, q float64, name string) (seconds float64, ok bool) {
	if s.sum(name) < since.sum(name) { // the node was started again
		since = &sample{}
	}
	counts := make(map[float64]float64) // by upper bound, cumulative
	s.addBuckets(counts, name, 1)
	since.addBuckets(counts, name, -1)
	bounds := slices.Sorted(maps.Keys(counts))
	if len(bounds) == 0 || counts[bounds[len(bounds)-1]] <= 0 {
		return 0, false
	}
	rank := q * counts[bounds[len(bounds)-1]]
	low, below := 0.0, 0.0
	for _, b := range bounds {
		if counts[b] >= rank {
			if math.IsInf(b, 1) { // above all bounds: the highest is what is known
				return low, true
			}
			return low + (b-low)*(rank-below)/max(counts[b]-below, 1), true
		}
		low, below = b, counts[b]
	}
	return low, true
}

// addBuckets adds a histogram's cumulative counts over all labels.
func (s *sample) addBuckets(counts map[float64]float64, name string, sign float64) {
	for _, m := range s.families[name].GetMetric() {
		for _, b := range m.GetHistogram().GetBucket() {
			counts[b.GetUpperBound()] += sign * float64(b.GetCumulativeCount())
		}
	}
}

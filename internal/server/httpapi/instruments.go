package httpapi

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// instruments are the server's metrics.
type instruments struct {
	requests    *prometheus.CounterVec
	seconds     *prometheus.HistogramVec
	connections prometheus.Gauge
	refused     prometheus.Counter
	streams     prometheus.Gauge
}

func newInstruments(reg prometheus.Registerer) (*instruments, error) {
	m := &instruments{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "turnlog_http_requests_total",
			Help: "HTTP requests by route, method and status.",
		}, []string{"route", "method", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "turnlog_http_request_duration_seconds",
			Help:    "Time from the head of a request to the end of its response.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
			// A Prometheus that asks for them gets native buckets, 10 % apart, besides.
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100,
		}, []string{"route", "method"}),
		connections: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "turnlog_http_connections", Help: "Open HTTP connections.",
		}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "turnlog_http_connections_rejected_total",
			Help: "HTTP connections rejected because too many were open.",
		}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "turnlog_http_streams", Help: "Open tails: streams of server-sent events.",
		}),
	}
	for _, c := range []prometheus.Collector{m.requests, m.seconds, m.connections, m.refused, m.streams} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *instruments) observe(route, method string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(route, method).Observe(took.Seconds())
}

// Package otlp sends spans to a collector, by OpenTelemetry's protocol over HTTP. The messages are OpenTelemetry's own;
// its exporter for Go is not used, because it adds gRPC, 8 MB, to the program.
package otlp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/turnlog/turnlog/internal/trace"
)

// Bounds of an Exporter.
const (
	maxWaiting = 8192             // spans that wait to be sent; further ones are dropped
	maxBatch   = 512              // spans of a request
	batchTime  = time.Second      // how long a span waits for others
	sendTime   = 10 * time.Second // of one attempt to send a batch
	retryTime  = 30 * time.Second // how long a batch is sent again and again
	lastTime   = 2 * time.Second  // for what is left when the node stops
	firstPause = 500 * time.Millisecond
	maxAnswer  = 64 << 10 // bytes of an answer that are read
)

// Config configures an Exporter.
type Config struct {
	Endpoint string // as OTEL_EXPORTER_OTLP_ENDPOINT has it: the URL without /v1/traces
	Headers  string // as OTEL_EXPORTER_OTLP_HEADERS has them: name=value,name=value
	NodeID   string
	Version  string // of the program
	Logger   *slog.Logger
}

// Exporter sends spans while Run runs. It implements trace.Exporter.
type Exporter struct {
	url      string
	headers  http.Header
	resource resource
	waiting  chan trace.Span
	log      *slog.Logger
	client   *http.Client
	failing  bool // the last batch was not taken

	exported, dropped, failed atomic.Uint64
}

// New returns an Exporter.
func New(c Config) (*Exporter, error) {
	h, err := parseHeaders(c.Headers)
	if err != nil {
		return nil, err
	}
	return &Exporter{
		url: strings.TrimSuffix(c.Endpoint, "/") + "/v1/traces", headers: h, resource: newResource(c.NodeID, c.Version),
		waiting: make(chan trace.Span, maxWaiting), log: c.Logger,
		client: &http.Client{Timeout: sendTime, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // the headers may have a secret, which is for the endpoint
		}},
	}, nil
}

func parseHeaders(list string) (http.Header, error) {
	h := http.Header{"Content-Type": {"application/x-protobuf"}}
	for item := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(item) == "" {
			continue
		}
		name, escaped, ok := strings.Cut(item, "=")
		value, err := url.PathUnescape(strings.TrimSpace(escaped))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil {
			return nil, errors.New("OTEL_EXPORTER_OTLP_HEADERS must be NAME=VALUE,NAME=VALUE,…, with the values " +
				"escaped as in a URL") // without what it says: it may have a secret
		}
		h.Set(name, value)
	}
	return h, nil
}

// Export takes a span, or drops it if too many wait.
func (e *Exporter) Export(s trace.Span) {
	select {
	case e.waiting <- s:
	default:
		e.dropped.Add(1)
	}
}

// Stats returns what was counted so far.
func (e *Exporter) Stats() trace.Stats {
	return trace.Stats{Exported: e.exported.Load(), Dropped: e.dropped.Load(), Failed: e.failed.Load()}
}

// Run sends spans until ctx ends, and then those that wait, for as long as lastTime.
func (e *Exporter) Run(ctx context.Context) {
	tick := time.NewTicker(batchTime)
	defer tick.Stop()
	var batch []trace.Span
	for {
		full := false
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTime)
			defer cancel()
			e.finish(last, batch)
			return
		case s := <-e.waiting:
			batch = append(batch, s)
			full = len(batch) == maxBatch
		case <-tick.C:
			full = len(batch) > 0
		}
		if full {
			e.send(ctx, batch)
			batch = nil
		}
	}
}

// finish sends what is left.
func (e *Exporter) finish(ctx context.Context, batch []trace.Span) {
	for {
		select {
		case s := <-e.waiting:
			if batch = append(batch, s); len(batch) == maxBatch {
				e.send(ctx, batch)
				batch = nil
			}
			continue
		default:
		}
		if len(batch) > 0 {
			e.send(ctx, batch)
		}
		return
	}
}

// send sends a batch, again and again for retryTime if the collector cannot take it now. It logs the first batch that
// the collector does not take, and the first that it takes again.
func (e *Exporter) send(ctx context.Context, batch []trace.Span) {
	rejected, err := e.deliver(ctx, batch)
	if err != nil {
		rejected = uint64(len(batch))
	}
	e.failed.Add(rejected)
	e.exported.Add(uint64(len(batch)) - rejected)
	switch {
	case err != nil && !e.failing:
		e.log.Warn("the collector of traces does not take spans", "url", e.url, "error", err)
	case err == nil && e.failing:
		e.log.Info("the collector of traces takes spans again", "url", e.url)
	}
	e.failing = err != nil
}

func (e *Exporter) deliver(ctx context.Context, batch []trace.Span) (rejected uint64, err error) {
	body, err := proto.Marshal(e.resource.request(batch))
	if err != nil {
		return 0, err
	}
	until := time.Now().Add(retryTime)
	for pause := firstPause; ; pause *= 2 {
		rejected, again, err := e.post(ctx, body)
		if err == nil {
			return min(rejected, uint64(len(batch))), nil
		}
		if !again || time.Now().Add(pause).After(until) {
			return 0, err
		}
		select {
		case <-ctx.Done():
			return 0, err
		case <-time.After(pause):
		}
	}
}

// post sends a request, and returns how many of its spans the collector rejected. again: the same request may succeed
// later.
func (e *Exporter) post(ctx context.Context, body []byte) (rejected uint64, again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return 0, false, err
	}
	req.Header = e.headers.Clone()
	res, err := e.client.Do(req)
	if err != nil {
		return 0, true, err
	}
	defer res.Body.Close()
	switch res.StatusCode {
	case http.StatusOK:
		answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
		var m collector.ExportTraceServiceResponse
		if err == nil && proto.Unmarshal(answer, &m) == nil {
			rejected = uint64(max(m.GetPartialSuccess().GetRejectedSpans(), 0))
		}
		return rejected, false, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	return 0, again, fmt.Errorf("it answers %s", res.Status)
}

package otlp

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/turnlog/turnlog/internal/trace"
)

func open(t *testing.T, endpoint, headers string) *Exporter {
	t.Helper()
	e, err := New(Config{Endpoint: endpoint, Headers: headers, NodeID: "n1", Version: "v",
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// run runs e until it has nothing more to send.
func run(t *testing.T, e *Exporter) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e.Run(ctx)
}

// What a collector does not take in time is dropped, and counted; the node never waits.
func TestTooManySpans(t *testing.T) {
	var got atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m collector.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &m); err != nil {
			t.Error(err)
			return
		}
		n := len(m.ResourceSpans[0].ScopeSpans[0].Spans)
		if n > maxBatch {
			t.Errorf("%d spans in a request", n)
		}
		got.Add(int64(n))
	}))
	defer s.Close()
	e := open(t, s.URL+"/", "")
	for range maxWaiting + 10 {
		e.Export(trace.Span{Name: "x"})
	}
	run(t, e)
	if want := (trace.Stats{Exported: maxWaiting, Dropped: 10}); e.Stats() != want || got.Load() != maxWaiting {
		t.Errorf("%+v, and the collector has %d; want %+v", e.Stats(), got.Load(), want)
	}
}

// answers is a collector that answers with statuses, one after the other.
type answers struct {
	statuses []int
	requests []*http.Request
	body     []byte
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	a.requests = append(a.requests, r)
	status := a.statuses[0]
	a.statuses = a.statuses[1:]
	if status == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{},
		Body: io.NopCloser(strings.NewReader(string(a.body)))}, nil
}

// What may succeed later is sent again, for a while; what the collector rejects is counted.
func TestCollectorsThatRejectSpans(t *testing.T) {
	partly, err := proto.Marshal(&collector.ExportTraceServiceResponse{
		PartialSuccess: &collector.ExportTracePartialSuccess{RejectedSpans: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		answers
		want trace.Stats
	}{
		"at once":    {answers{statuses: []int{200}}, trace.Stats{Exported: 2}},
		"at last":    {answers{statuses: []int{503, 0, 429, 200}}, trace.Stats{Exported: 2}},
		"never":      {answers{statuses: []int{503, 503, 503, 503, 503, 503}}, trace.Stats{Failed: 2}},
		"malformed":  {answers{statuses: []int{400}}, trace.Stats{Failed: 2}},
		"redirected": {answers{statuses: []int{307}}, trace.Stats{Failed: 2}},
		"partly":     {answers{statuses: []int{200}, body: partly}, trace.Stats{Exported: 1, Failed: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := open(t, "http://collector:4318", "Authorization=Bearer%20a%3Db, x-team = t ")
				e.client.Transport = &x.answers
				e.send(t.Context(), make([]trace.Span, 2))
				if e.Stats() != x.want || len(x.statuses) != 0 {
					t.Errorf("%+v, and %v are left; want %+v", e.Stats(), x.statuses, x.want)
				}
				for _, r := range x.requests {
					if r.URL.String() != "http://collector:4318/v1/traces" ||
						r.Header.Get("Authorization") != "Bearer a=b" ||
						r.Header.Get("X-Team") != "t" {
						t.Errorf("%s %v", r.URL, r.Header)
					}
				}
			})
		})
	}
}

func TestHeadersThatAreNone(t *testing.T) {
	for _, h := range []string{"a", "=b", "a=%zz"} {
		if _, err := New(Config{Headers: h}); err == nil || strings.Contains(err.Error(), "zz") {
			t.Errorf("%q: %v", h, err)
		}
	}
}

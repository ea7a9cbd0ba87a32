package otlp

import (
	"runtime"
	"time"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	resources "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	spans "go.opentelemetry.io/proto/slim/otlp/trace/v1"

	"github.com/turnlog/turnlog/internal/trace"
)

// resource is what the spans of a node are of.
type resource struct {
	of    *resources.Resource
	scope *common.InstrumentationScope
}

func newResource(nodeID, version string) resource {
	return resource{
		of: &resources.Resource{Attributes: []*common.KeyValue{
			text("service.name", "turnlog"), text("service.instance.id", nodeID), text("service.version", version),
			text("process.runtime.version", runtime.Version()),
		}},
		scope: &common.InstrumentationScope{Name: "github.com/turnlog/turnlog", Version: version},
	}
}

// request returns the message by which a collector gets spans.
func (r resource) request(batch []trace.Span) *collector.ExportTraceServiceRequest {
	list := make([]*spans.Span, len(batch))
	for i := range batch {
		list[i] = message(&batch[i])
	}
	return &collector.ExportTraceServiceRequest{ResourceSpans: []*spans.ResourceSpans{{
		Resource: r.of, ScopeSpans: []*spans.ScopeSpans{{Scope: r.scope, Spans: list}},
	}}}
}

func message(s *trace.Span) *spans.Span {
	m := &spans.Span{
		TraceId: s.Context.Trace[:], SpanId: s.Context.Span[:], Name: s.Name,
		StartTimeUnixNano: nanos(s.Begun), EndTimeUnixNano: nanos(s.Ended),
	}
	if s.Parent != [8]byte{} {
		m.ParentSpanId = s.Parent[:]
	}
	switch s.Kind {
	case trace.Server:
		m.Kind = spans.Span_SPAN_KIND_SERVER
	case trace.Client:
		m.Kind = spans.Span_SPAN_KIND_CLIENT
	default:
		m.Kind = spans.Span_SPAN_KIND_INTERNAL
	}
	if s.Failed {
		m.Status = &spans.Status{Code: spans.Status_STATUS_CODE_ERROR}
	}
	for _, a := range s.Attributes {
		if a.Text != "" {
			m.Attributes = append(m.Attributes, text(a.Key, a.Text))
		} else {
			m.Attributes = append(m.Attributes, &common.KeyValue{Key: a.Key,
				Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: a.Number}}})
		}
	}
	return m
}

func text(key, value string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: value}}}
}

func nanos(t time.Time) uint64 { return uint64(max(t.UnixNano(), 0)) }

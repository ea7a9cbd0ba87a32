package main

import (
	"context"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/turn"
)

type traceOfContext struct{}

// A call of the Go client in a trace is part of it at the node: the span of its request is a child of the caller's.
func TestTracesGoOnFromTheGoClient(t *testing.T) {
	t.Parallel()
	c := startCollector(t)
	nodes := startNodesWith(t, func(int) []string {
		return []string{"--otlp-endpoint", c.URL, "--otlp-sample-ratio", "0"}
	}, t.TempDir())
	gc, err := client.New(client.Config{Addrs: []string{nodes[0].addr}, Traceparent: func(ctx context.Context) string {
		id, _ := ctx.Value(traceOfContext{}).(string)
		if id == "" {
			return ""
		}
		return traceparent(id, "01")
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer gc.Close()
	const written, read = "0000000000000000000000000000aaa1", "0000000000000000000000000000aaa2"
	in := func(trace string) context.Context { return context.WithValue(t.Context(), traceOfContext{}, trace) }
	s := gc.Session("s")
	if _, err := s.Append(in(written), turn.NewMessage{Data: []byte("traced")}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), turn.NewMessage{Data: []byte("not traced")}); err != nil {
		t.Fatal(err)
	}
	if h, err := s.Last(in(read), 20); err != nil || len(h.Messages) != 2 {
		t.Fatal(h, err)
	}
	if got := c.wait(written, 4); !strings.HasPrefix(got, "TURN.APPEND @turnlog "+nodes[0].args[2]) ||
		!strings.Contains(got, "turnlog.apply") {
		t.Errorf("the append's spans below the client's:\n%s", got)
	}
	if got := c.wait(read, 2); !strings.HasPrefix(got, "TURN.READ @") {
		t.Errorf("the read's spans below the client's:\n%s", got)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if s.TraceId[15] != 0xa1 && s.TraceId[15] != 0xa2 {
			t.Errorf("a span of a call outside of traces: %v", s)
		}
	}
}

package propose

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/trace"
	"github.com/turnlog/turnlog/turn"
)

// spans is an exporter that keeps the names of spans, with what failed.
type spans struct {
	mu    sync.Mutex
	names []string
}

func (s *spans) Export(x trace.Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := x.Name
	for _, a := range x.Attributes {
		if a.Key == "error.type" || a.Key == "turnlog.outcome" || a.Key == "turnlog.leader" {
			name += " " + a.Text
		}
	}
	s.names = append(s.names, name)
}

func (s *spans) Stats() trace.Stats { return trace.Stats{} }

// expect holds the spans that have ended since the last time to those wanted, in any order.
func (s *spans) expect(t *testing.T, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.names)
	slices.Sort(want)
	if !slices.Equal(s.names, want) {
		t.Errorf("spans %q, want %q", s.names, want)
	}
	s.names = nil
}

// submit submits a call that is traced.
func (c *callTable) submit(tr *trace.Tracer) (*Call, *trace.Active) {
	span := tr.Begin(trace.Context{}, trace.Server, "request")
	return c.Submit(trace.With(c.t.Context(), span), []byte("12345678"), 0), span
}

// drained fails if operations are still traced, which would keep memory.
func (t *Tracing) drained(tb testing.TB) {
	tb.Helper()
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.open) != 0 || t.count.Load() != 0 {
		tb.Errorf("%d operations are still traced; counted %d", len(t.open), t.count.Load())
	}
}

// A call that is sent to one leader, and after its failure to another, has a span for each attempt; only those that are
// traced are announced.
func TestTracedCallsAreForwarded(t *testing.T) {
	forwarding(t, roomy{}, func(c *callTable, p *forwards, _ *Forwarder) {
		s := &spans{}
		tr := trace.New(s, 1)
		tracing := NewTracing(tr)
		c.TraceBy(tracing)
		c.add(1)
		_, span := c.submit(tr)
		p.turnTo("n2")
		synctest.Wait()
		first := p.sent[0]
		expect(t, p, "n2 1.0: 1 2")
		if len(first.Traces) != 1 || first.Traces[0].Number != 2 || !first.Traces[0].Context.Valid() ||
			first.Traces[0].Context.Trace != span.Context().Trace {
			t.Errorf("announced %+v", first.Traces)
		}
		first.answer(nil, &Failure{Err: turn.Errorf(turn.Unknown, "lost")})
		synctest.Wait()
		p.turnTo("n3")
		synctest.Wait()
		second := p.sent[0]
		expect(t, p, "n3 2.0: 1 2")
		if len(second.Traces) != 1 || second.Traces[0].Context.Span == first.Traces[0].Context.Span {
			t.Errorf("announced %+v again", second.Traces)
		}
		second.answer([]fsm.Outcome{{Origin: 7, Number: 1}, {Origin: 7, Number: 2, Result: turn.Result{Revision: 5}}},
			nil)
		synctest.Wait()
		span.End()
		s.expect(t, "turnlog.queue", "turnlog.forward n2", "turnlog.queue", "turnlog.forward n3", "request")
		tracing.drained(t)

		call, span := c.submit(tr)
		synctest.Wait()
		expect(t, p, "n3 2.1: 3")
		c.giveUp(call)
		span.End()
		s.expect(t, "turnlog.queue", "turnlog.forward n3 UNKNOWN_OUTCOME unknown",
			"request UNKNOWN_OUTCOME unknown")
		tracing.drained(t)
	})
}

// What another node forwards is traced to its end, whatever that is.
func TestTracedBatchesOfOthers(t *testing.T) {
	log := &slowLog{released: make(chan struct{})}
	defer close(log.released)
	c := newCallTable(t)
	s := &spans{}
	tr := trace.New(s, 0)
	tracing := NewTracing(tr)
	c.TraceBy(tracing)
	p := leads(t, log, c.Calls)
	in := NewInbox(p, vetByNumber)
	of := tr.Begin(trace.Context{Trace: [16]byte{1}, Span: [8]byte{1}, Sampled: true}, trace.Client, "x").Context()
	take := func(place, number uint64) {
		tracing.Announce(9, "n2", []Announced{{number, of}, {number + 1000, trace.Context{}}})
		in.Take("n2", Forwarded{Origin: 9, Session: 1, Place: place,
			Commands: []codec.Command{{Origin: 9, Number: number}}}, 20, func([]fsm.Outcome, *Failure) {})
	}
	take(0, 1)
	if !p.step() {
		t.Fatal("the batch is not proposed")
	}
	tracing.Applied(time.Now(), []fsm.Outcome{{Origin: 9, Number: 1, Err: turn.Errorf(turn.Conflict, "no")},
		{Origin: 8}})
	s.expect(t, "turnlog.queue", "turnlog.commit", "turnlog.apply", "turnlog.forwarded CONFLICT not_applied")
	take(5, 2) // out of turn
	s.expect(t, "turnlog.forwarded UNAVAILABLE not_applied")
	take(1, wontFit)
	s.expect(t, "turnlog.forwarded")
	tracing.drained(t)
}

// Announcements of operations that do not come do not fill the memory.
func TestAnnouncedInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &spans{}
		tracing := NewTracing(trace.New(s, 0))
		announce := func(from int) {
			for i := range maxTraced + 100 {
				tracing.Announce(uint64(from), "n2", []Announced{{uint64(i),
					trace.Context{Trace: [16]byte{1}, Span: [8]byte{1}, Sampled: true}}})
			}
			if len(tracing.open) != maxTraced || tracing.count.Load() != maxTraced {
				t.Fatalf("%d operations are traced, %d by the count", len(tracing.open), tracing.count.Load())
			}
		}
		announce(1)
		for range 2 {
			time.Sleep(announcedFor + 1)
			announce(2)
			if _, old := tracing.open[tag{1, 1}]; old {
				t.Error("what never came is still expected")
			}
			tracing.answered([]codec.Command{{Origin: 2, Number: 1}}, nil)
			tracing.Announce(2, "n2", []Announced{{1, trace.Context{Trace: [16]byte{1}, Span: [8]byte{1},
				Sampled: true}}})
		}
	})
}

// BenchmarkSubmitTraced is what a call costs without a tracer, with one whose calls are not sampled, and sampled.
func BenchmarkSubmitTraced(b *testing.B) {
	for _, ratio := range []float64{-1, 0, 1} {
		b.Run(fmt.Sprint(ratio), func(b *testing.B) {
			var tr *trace.Tracer
			if ratio >= 0 {
				tr = trace.New(&spans{}, ratio)
			}
			t := NewCalls(testBounds(), 7, time.Now, func() {})
			t.TraceBy(NewTracing(tr))
			op := []byte("12345678")
			b.ReportAllocs()
			for b.Loop() {
				span := tr.Begin(trace.Context{}, trace.Server, "x")
				c := t.Submit(trace.With(b.Context(), span), op, 0)
				t.Applied(0, ok(c.number))
				span.End()
			}
		})
	}
}

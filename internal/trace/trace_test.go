package trace

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"time"
)

// kept is an Exporter that keeps what it gets.
type kept struct {
	mu    sync.Mutex
	spans []Span
}

func (k *kept) Export(s Span) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.spans = append(k.spans, s)
}

func (k *kept) Stats() Stats { return Stats{Exported: uint64(len(k.spans))} }

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-"

func parse(t *testing.T, flags string) Context {
	t.Helper()
	c, ok := Parse(parent + flags)
	if !ok {
		t.Fatal(flags)
	}
	return c
}

// A client's sampling counts where there is one, the ratio elsewhere.
func TestSampling(t *testing.T) {
	const n = 20000
	for ratio, want := range map[float64]float64{0: 0, 0.1: 0.1, 1: 1, 2: 1, -1: 0} {
		tr := New(&kept{}, ratio)
		began := 0
		for range n {
			if tr.Begin(Context{}, Server, "x") != nil {
				began++
			}
		}
		if got := float64(began) / n; math.Abs(got-want) > 0.02 || (want == 0 || want == 1) && got != want {
			t.Errorf("with %v, %v of the requests are sampled", ratio, got)
		}
		if tr.Begin(parse(t, "01"), Server, "x") == nil || tr.Begin(parse(t, "03"), Server, "x") == nil ||
			tr.Begin(parse(t, "00"), Server, "x") != nil || tr.Begin(parse(t, "02"), Server, "x") != nil {
			t.Errorf("with %v, the client's word does not count", ratio)
		}
	}
}

// A span has its parent's trace and its own id; the first of a trace has no parent.
func TestParts(t *testing.T) {
	k := &kept{}
	tr := New(k, 1)
	at := time.Now()
	a := tr.Begin(parse(t, "01"), Server, "a")
	b := tr.Within(With(context.Background(), a)).Begin(Client, "b")
	b.Part("c", at, at.Add(time.Second), Number("n", 7))
	b.Set(Text("x", "1"), Text("y", "1"), Text("x", "2"))
	b.Fail("CONFLICT")
	b.End()
	b.Fail("again")
	b.End()
	a.End()
	first := tr.Begin(Context{}, Server, "first")
	first.End()
	c, bs, as, root := k.spans[0], k.spans[1], k.spans[2], k.spans[3]
	if len(k.spans) != 4 || c.Parent != bs.Context.Span || bs.Parent != as.Context.Span ||
		as.Parent != parse(t, "01").Span || as.Context.Trace != parse(t, "01").Trace ||
		c.Context.Trace != as.Context.Trace || c.Context.Span == bs.Context.Span ||
		!c.Ended.Equal(at.Add(time.Second)) {
		t.Errorf("%+v", k.spans)
	}
	if as.Failed || !bs.Failed || len(bs.Attributes) != 3 || bs.Attributes[1] != Text("x", "2") {
		t.Errorf("%+v", bs)
	}
	if root.Parent != [8]byte{} || !root.Context.Valid() || root.Context.Trace == as.Context.Trace {
		t.Errorf("%+v", root)
	}
}

// Nothing needs a tracer.
func TestNil(t *testing.T) {
	var tr *Tracer
	a := tr.Begin(parse(t, "01"), Server, "x")
	b := a.Begin(Client, "y")
	b.Part("z", time.Now(), time.Now())
	b.Set(Text("x", "y"))
	b.Fail("x")
	b.End()
	if ctx := With(context.Background(), b); a != nil || b != nil || tr.Within(ctx) != nil || b.Context().Valid() {
		t.Error("something came of nothing")
	}
}

func TestEncoding(t *testing.T) {
	for _, flags := range []string{"00", "01"} {
		c := parse(t, flags)
		if b := c.Append([]byte("ab")); len(b) != 2+EncodedLen || Decode(b[2:]) != c {
			t.Errorf("%v became %v", c, Decode(b[2:]))
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(parent + "01")
	f.Add("01" + parent[2:] + "01-more")
	f.Fuzz(func(t *testing.T, s string) {
		if c, ok := Parse(s); ok != c.Valid() || ok && c.TraceID() != s[3:35] {
			t.Error(errors.New("not what was parsed"), c)
		}
	})
}

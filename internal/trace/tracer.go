package trace

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
)

// Tracer begins spans. A nil Tracer begins none.
type Tracer struct {
	exporter Exporter
	below    uint64 // what a random number is compared with: see sampled
}

// New returns a Tracer. Of requests that are part of no trace it begins one for the ratio given, of 1; of others, it is
// for their clients to say.
func New(e Exporter, ratio float64) *Tracer {
	t := &Tracer{exporter: e, below: math.MaxUint64}
	if ratio < 1 {
		t.below = uint64(max(ratio, 0) * math.MaxUint64)
	}
	return t
}

// Stats returns what was counted so far.
func (t *Tracer) Stats() Stats { return t.exporter.Stats() }

// Begin begins the span of a request that is part of parent, if that is a span at all. It returns nil if the request is
// not to be recorded.
func (t *Tracer) Begin(parent Context, kind Kind, name string) *Active {
	if t == nil || !t.samples(parent) {
		return nil
	}
	var above Active
	above.tracer, above.span.Context = t, parent
	if !parent.Valid() {
		binary.LittleEndian.PutUint64(above.span.Context.Trace[:], rand.Uint64()|1)
		binary.LittleEndian.PutUint64(above.span.Context.Trace[8:], rand.Uint64())
		above.span.Context.Span = [8]byte{}
	}
	return above.Begin(kind, name)
}

func (t *Tracer) samples(parent Context) bool {
	if parent.Valid() {
		return parent.Sampled
	}
	return t.below > 0 && rand.Uint64() <= t.below
}

// Within returns the span that ctx is for, nil if it is for none.
func (t *Tracer) Within(ctx context.Context) *Active {
	if t == nil {
		return nil
	}
	a, _ := ctx.Value(contextKey{}).(*Active)
	return a
}

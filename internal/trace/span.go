package trace

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Span is a span that has ended.
type Span struct {
	Context    Context // its own
	Parent     [8]byte // the span that it is part of; zero: none
	Name       string
	Kind       Kind
	Begun      time.Time
	Ended      time.Time
	Attributes []Attribute
	Failed     bool
}

// Kind says what a span is to the one that it is part of.
type Kind uint8

// Kinds of spans.
const (
	Internal Kind = iota // a part of the same process
	Server               // serves a request of another process
	Client               // waits for another process
)

// Attribute is a fact about a span: a text, or a number if the text is empty.
type Attribute struct {
	Key    string
	Text   string
	Number int64
}

// Text returns an attribute that is a text.
func Text(key, value string) Attribute { return Attribute{Key: key, Text: value} }

// Number returns an attribute that is a number.
func Number(key string, value uint64) Attribute { return Attribute{Key: key, Number: int64(value)} }

// Active is a span that has not ended. Any goroutine may use it; once it has ended, what it is told is dropped.
type Active struct {
	tracer *Tracer

	mu    sync.Mutex
	span  Span
	ended bool
}

// Context returns which span a is; the zero Context if a is nil.
func (a *Active) Context() Context {
	if a == nil {
		return Context{}
	}
	return a.span.Context // which does not change
}

// Begin begins a part of a.
func (a *Active) Begin(kind Kind, name string) *Active { return a.beginAt(kind, name, time.Now()) }

func (a *Active) beginAt(kind Kind, name string, begun time.Time) *Active {
	if a == nil {
		return nil
	}
	c := Context{Trace: a.span.Context.Trace, Span: newSpanID(), Sampled: true}
	return &Active{tracer: a.tracer, span: Span{Context: c, Parent: a.span.Context.Span, Name: name, Kind: kind,
		Begun: begun}}
}

// Part notes a part of a that is over.
func (a *Active) Part(name string, begun, ended time.Time, facts ...Attribute) {
	p := a.beginAt(Internal, name, begun)
	p.Set(facts...)
	p.endAt(ended)
}

// Set adds facts, and replaces those of the same keys.
func (a *Active) Set(facts ...Attribute) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.ended {
		for _, f := range facts {
			same := func(had Attribute) bool { return had.Key == f.Key }
			a.span.Attributes = append(slices.DeleteFunc(a.span.Attributes, same), f)
		}
	}
}

// Fail notes that what the span is of failed, with an error of that type.
func (a *Active) Fail(errorType string) {
	if a == nil {
		return
	}
	a.Set(Text("error.type", errorType))
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.ended {
		a.span.Failed = true
	}
}

// End ends the span, and exports it.
func (a *Active) End() {
	if a != nil {
		a.endAt(time.Now())
	}
}

func (a *Active) endAt(at time.Time) {
	if a == nil {
		return
	}
	a.mu.Lock()
	again := a.ended
	a.ended, a.span.Ended = true, at
	a.mu.Unlock()
	if !again {
		a.tracer.exporter.Export(a.span)
	}
}

type contextKey struct{}

// With returns a context for what is done as a part of a.
func With(ctx context.Context, a *Active) context.Context {
	if a == nil {
		return ctx
	}
	return context.WithValue(ctx, contextKey{}, a)
}

package measure

import (
	"slices"
	"time"
)

// Samples keeps when each operation of a load ended and how long it took, in
// eight bytes: a load of an hour, and operations of an hour, are no problem.
type Samples struct {
	Begin time.Time
	At    []uint32 // in units of 10 µs since begin, rising
	took  []uint32 // in µs
}

const SampleUnit = 10 * time.Microsecond

func (s *Samples) Add(begun, now time.Time) {
	s.At = append(s.At, uint32(now.Sub(s.Begin)/SampleUnit))
	s.took = append(s.took, uint32(now.Sub(begun)/time.Microsecond))
}

// Span is a stretch of time.
type Span struct{ From, To time.Time }

// Within returns the latencies of the operations that ended in a span.
func (s *Samples) Within(p Span) *Histogram {
	h := new(Histogram)
	i, _ := slices.BinarySearch(s.At, s.unit(p.From))
	for end := s.unit(p.To); i < len(s.At) && s.At[i] < end; i++ {
		h.Record(s.latency(i))
	}
	return h
}

// Split separates the operations that overlap one of the spans from the others.
func (s *Samples) Split(spans []Span) (during, without *Histogram) {
	during, without = new(Histogram), new(Histogram)
	spans = merge(spans)
	for i, at := range s.At {
		end := s.Begin.Add(time.Duration(at) * SampleUnit)
		begun := end.Add(-s.latency(i))
		// Of the spans that end after the operation began, the first begins first.
		k, _ := slices.BinarySearchFunc(spans, begun, func(p Span, t time.Time) int { return p.To.Compare(t) })
		if k < len(spans) && !spans[k].From.After(end) {
			during.Record(s.latency(i))
		} else {
			without.Record(s.latency(i))
		}
	}
	return during, without
}

func (s *Samples) latency(i int) time.Duration { return time.Duration(s.took[i]) * time.Microsecond }

func (s *Samples) unit(t time.Time) uint32 { return uint32(max(t.Sub(s.Begin), 0) / SampleUnit) }

// merge returns the union of spans as spans that are apart, in order.
func merge(spans []Span) []Span {
	spans = slices.Clone(spans)
	slices.SortFunc(spans, func(a, b Span) int { return a.From.Compare(b.From) })
	var out []Span
	for _, p := range spans {
		if n := len(out); n > 0 && !p.From.After(out[n-1].To) {
			if p.To.After(out[n-1].To) {
				out[n-1].To = p.To
			}
			continue
		}
		out = append(out, p)
	}
	return out
}

// Share returns how much of a span others cover together.
func Share(spans []Span, of Span) float64 {
	covered := time.Duration(0)
	for _, p := range merge(spans) {
		from, to := p.From, p.To
		if from.Before(of.From) {
			from = of.From
		}
		if to.After(of.To) {
			to = of.To
		}
		covered += max(to.Sub(from), 0)
	}
	return covered.Seconds() / of.To.Sub(of.From).Seconds()
}

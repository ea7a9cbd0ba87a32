package bench

import (
	"slices"
	"time"
)

// samples keeps when each operation of a load ended and how long it took, in
// eight bytes: a load of an hour, and operations of an hour, are no problem.
type samples struct {
	begin time.Time
	at    []uint32 // in units of 10 µs since begin, rising
	took  []uint32 // in µs
}

const sampleUnit = 10 * time.Microsecond

func (s *samples) add(begun, now time.Time) {
	s.at = append(s.at, uint32(now.Sub(s.begin)/sampleUnit))
	s.took = append(s.took, uint32(now.Sub(begun)/time.Microsecond))
}

// span is a stretch of time.
type span struct{ from, to time.Time }

// within returns the latencies of the operations that ended in a span.
func (s *samples) within(p span) *Histogram {
	h := new(Histogram)
	i, _ := slices.BinarySearch(s.at, s.unit(p.from))
	for end := s.unit(p.to); i < len(s.at) && s.at[i] < end; i++ {
		h.Record(s.latency(i))
	}
	return h
}

// split separates the operations that overlap one of the spans from the others.
func (s *samples) split(spans []span) (during, without *Histogram) {
	during, without = new(Histogram), new(Histogram)
	spans = merge(spans)
	for i, at := range s.at {
		end := s.begin.Add(time.Duration(at) * sampleUnit)
		begun := end.Add(-s.latency(i))
		// Of the spans that end after the operation began, the first begins first.
		k, _ := slices.BinarySearchFunc(spans, begun, func(p span, t time.Time) int { return p.to.Compare(t) })
		if k < len(spans) && !spans[k].from.After(end) {
			during.Record(s.latency(i))
		} else {
			without.Record(s.latency(i))
		}
	}
	return during, without
}

func (s *samples) latency(i int) time.Duration { return time.Duration(s.took[i]) * time.Microsecond }

func (s *samples) unit(t time.Time) uint32 { return uint32(max(t.Sub(s.begin), 0) / sampleUnit) }

// merge returns the union of spans as spans that are apart, in order.
func merge(spans []span) []span {
	spans = slices.Clone(spans)
	slices.SortFunc(spans, func(a, b span) int { return a.from.Compare(b.from) })
	var out []span
	for _, p := range spans {
		if n := len(out); n > 0 && !p.from.After(out[n-1].to) {
			if p.to.After(out[n-1].to) {
				out[n-1].to = p.to
			}
			continue
		}
		out = append(out, p)
	}
	return out
}

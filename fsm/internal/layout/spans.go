package layout

import (
	"encoding/binary"
	"sort"
)

// Span is a range of seqs, both ends included.
type Span struct{ From, To uint64 }

// Len returns how many seqs it holds.
func (s Span) Len() uint64 { return s.To - s.From + 1 }

// Spans is a set of seqs as sorted ranges that neither overlap nor adjoin. It only
// ever grows at its end or is replaced, so a reader may keep the slice that it found.
type Spans []Span

// Find returns the range that holds seq.
func (s Spans) Find(seq uint64) (Span, bool) {
	i := s.Reaching(seq)
	if i == len(s) || s[i].From > seq {
		return Span{}, false
	}
	return s[i], true
}

// Has reports whether the set holds seq.
func (s Spans) Has(seq uint64) bool {
	_, ok := s.Find(seq)
	return ok
}

// Reaching returns the place of the first range that does not end below seq.
func (s Spans) Reaching(seq uint64) int {
	return sort.Search(len(s), func(i int) bool { return s[i].To >= seq })
}

// With returns the set with the ranges of n, which are in order, added.
func (s Spans) With(n Spans) Spans {
	if len(n) == 0 {
		return s
	}
	if len(s) == 0 || n[0].From > s[len(s)-1].To+1 {
		return append(s, n[0]).merge(len(s), n[1:])
	}
	out := make(Spans, 0, len(s)+len(n))
	for len(s)+len(n) > 0 {
		if len(n) == 0 || len(s) > 0 && s[0].From <= n[0].From {
			out, s = out.merge(0, s[:1]), s[1:]
		} else {
			out, n = out.merge(0, n[:1]), n[1:]
		}
	}
	return out
}

// merge appends ranges that do not begin below the last one, which may grow unless it
// is before the place own.
func (s Spans) merge(own int, n Spans) Spans {
	for _, x := range n {
		if last := len(s) - 1; last >= own && x.From <= s[last].To+1 {
			s[last].To = max(s[last].To, x.To)
		} else {
			s = append(s, x)
		}
	}
	return s
}

// Add returns the set with x, and with everything between x and the highest seq in
// the set. Ranges below x keep their place, so that a set to which ever lower ranges
// are added stays small.
func (s Spans) Add(x Span) Spans {
	i := 0
	if x.From > 0 {
		i = s.Reaching(x.From - 1)
	}
	if i == len(s) {
		return append(s, x)
	}
	x.From, x.To = min(x.From, s[i].From), max(x.To, s[len(s)-1].To)
	return append(s[:i:i], x)
}

// Append appends the stored form: uvarint number of ranges, then for each its distance to the end of the one
// before, and its length less one.
func (s Spans) Append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	end := uint64(0)
	for _, x := range s {
		b = binary.AppendUvarint(binary.AppendUvarint(b, x.From-end), x.To-x.From)
		end = x.To
	}
	return b
}

// Spans reads what Spans.Append appended.
func (r *Reader) Spans() (s Spans) {
	end := uint64(0)
	for range r.Count() {
		from := end + r.Uint()
		end = from + r.Uint()
		s = append(s, Span{from, end})
	}
	return s
}

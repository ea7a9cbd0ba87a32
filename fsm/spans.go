package fsm

import "sort"

// span is a range of seqs, both ends included.
type span struct{ from, to uint64 }

// len returns how many seqs it holds.
func (s span) len() uint64 { return s.to - s.from + 1 }

// spans is a set of seqs as sorted ranges that neither overlap nor adjoin. It only
// ever grows at its end or is replaced, so a reader may keep the slice that it found.
type spans []span

// find returns the range that holds seq.
func (s spans) find(seq uint64) (span, bool) {
	i := s.reaching(seq)
	if i == len(s) || s[i].from > seq {
		return span{}, false
	}
	return s[i], true
}

func (s spans) has(seq uint64) bool {
	_, ok := s.find(seq)
	return ok
}

// reaching returns the place of the first range that does not end below seq.
func (s spans) reaching(seq uint64) int {
	return sort.Search(len(s), func(i int) bool { return s[i].to >= seq })
}

// with returns the set with the ranges of n, which are in order, added.
func (s spans) with(n spans) spans {
	if len(n) == 0 {
		return s
	}
	if len(s) == 0 || n[0].from > s[len(s)-1].to+1 {
		return append(s, n[0]).merge(len(s), n[1:])
	}
	out := make(spans, 0, len(s)+len(n))
	for len(s)+len(n) > 0 {
		if len(n) == 0 || len(s) > 0 && s[0].from <= n[0].from {
			out, s = out.merge(0, s[:1]), s[1:]
		} else {
			out, n = out.merge(0, n[:1]), n[1:]
		}
	}
	return out
}

// merge appends ranges that do not begin below the last one, which may grow unless it
// is before the place own.
func (s spans) merge(own int, n spans) spans {
	for _, x := range n {
		if last := len(s) - 1; last >= own && x.from <= s[last].to+1 {
			s[last].to = max(s[last].to, x.to)
		} else {
			s = append(s, x)
		}
	}
	return s
}

// add returns the set with x, and with everything between x and the highest seq in
// the set. Ranges below x keep their place, so that a set to which ever lower ranges
// are added stays small.
func (s spans) add(x span) spans {
	i := 0
	if x.from > 0 {
		i = s.reaching(x.from - 1)
	}
	if i == len(s) {
		return append(s, x)
	}
	x.from, x.to = min(x.from, s[i].from), max(x.to, s[len(s)-1].to)
	return append(s[:i:i], x)
}

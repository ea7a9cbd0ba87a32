// Package gaps remembers ranges of keys in which nothing is alive, so that a walk through
// the keys begins again behind them.
//
// A key or element that was removed stays in the memtables, as removed, until it has left
// the store. A walk would pass all of them one by one: a client that takes the lowest
// member of a sorted set, again and again, would pass each that it took before.
package gaps

import (
	"slices"

	"github.com/tidwall/btree"
)

// Set is the gaps that are known of some keys. It is no part of the state: what is not
// remembered costs time only. The zero value is empty. It is for one goroutine at a time.
type Set struct {
	ranges btree.Map[string, gapEnd] // by where they begin; disjoint
	bytes  int                       // of their keys, at most: those that went may be counted still
}

// gapEnd is up to where a gap goes, without that, and about how many removed things a walk
// through it would pass.
type gapEnd struct {
	to string
	n  int
}

// Gap is a range of keys: from, and up to to but without it.
type Gap struct{ From, To string }

const (
	// Least is how many removed things in a row are worth a gap.
	Least = 8
	// maxGaps bounds the memory. Of more, the shorter half is forgotten, to be found again:
	// who passes those also passes many things that are alive, and that is charged for. So
	// many are needed because all memtables together can hold a million removed things.
	maxGaps = 1 << 16
	// maxGapBytes bounds the keys of the gaps: a name can be 32,000 bytes long.
	maxGapBytes = 8 << 20
)

// At returns the gap that a key is in. g may be nil.
func (g *Set) At(key string) (found Gap, ok bool) {
	if g == nil || g.ranges.Len() == 0 {
		return Gap{}, false
	}
	g.ranges.Descend(key, func(from string, r gapEnd) bool {
		found, ok = Gap{from, r.to}, key < r.to
		return false
	})
	return found, ok
}

// Add remembers a gap of n removed things. It absorbs the gaps that it touches.
func (g *Set) Add(x Gap, n int) {
	if before, ok := g.At(x.From); ok {
		x.From = before.From
	}
	var inside []string
	g.ranges.Ascend(x.From, func(from string, r gapEnd) bool {
		if from > x.To {
			return false
		}
		inside = append(inside, from)
		x.To = max(x.To, r.to)
		n += r.n
		return true
	})
	for _, from := range inside {
		g.ranges.Delete(from)
	}
	g.set(x.From, gapEnd{x.To, n})
	g.shrink()
}

func (g *Set) set(from string, end gapEnd) {
	g.ranges.Set(from, end)
	g.bytes += len(from) + len(end.to)
}

// Len returns how many gaps there are.
func (g *Set) Len() int { return g.ranges.Len() }

// Cut takes a key out that came to life.
func (g *Set) Cut(key string) {
	x, ok := g.At(key)
	if !ok {
		return
	}
	old, _ := g.ranges.Delete(x.From)
	if x.From < key {
		g.set(x.From, gapEnd{key, old.n / 2})
	}
	if above := key + "\x00"; above < x.To {
		g.set(above, gapEnd{x.To, old.n / 2})
	}
	g.shrink()
}

// shrink forgets the shorter half of the gaps if there are too many, or their keys too long.
func (g *Set) shrink() {
	if g.ranges.Len() <= maxGaps && g.bytes <= maxGapBytes {
		return
	}
	lengths := make([]int, 0, g.ranges.Len())
	g.bytes = 0
	g.ranges.Scan(func(from string, r gapEnd) bool {
		g.bytes += len(from) + len(r.to)
		lengths = append(lengths, r.n)
		return true
	})
	if len(lengths) <= maxGaps && g.bytes <= maxGapBytes/2 {
		return
	}
	slices.Sort(lengths)
	least, left := lengths[len(lengths)/2], new(Set)
	g.ranges.Scan(func(from string, r gapEnd) bool {
		if r.n > least {
			left.set(from, r)
		}
		return true
	})
	*g = *left
}

// Copied returns gaps that do not change with g, which may be nil. The caller sees to it
// that g is not changed while it is copied.
func (g *Set) Copied() *Set {
	if g == nil {
		return nil
	}
	return &Set{ranges: *g.ranges.IsoCopy()}
}

// Run follows a walk, either way, through keys that are gone, to find gaps.
type Run struct {
	// Learned is where gaps are remembered that the walk finds. Nil: it is not alone with
	// the state.
	Learned **Set
	N       int // keys in a row, a known gap counting as one
	Gap
}

// Add notes that the walk passes a part of the run.
func (r *Run) Add(x Gap) {
	if r.N++; r.N == 1 {
		r.Gap = x
		return
	}
	r.From, r.To = min(r.From, x.From), max(r.To, x.To)
}

// End ends a run.
func (r *Run) End() {
	if r.Learned != nil && r.N >= Least {
		if *r.Learned == nil {
			*r.Learned = new(Set)
		}
		(*r.Learned).Add(r.Gap, r.N)
	}
	r.N = 0
}

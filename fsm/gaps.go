package fsm

import (
	"slices"

	"github.com/tidwall/btree"
)

// A key or element that was removed stays in the memtables, as removed, until it has left
// the store. A walk would pass all of them one by one: a client that takes the lowest
// member of a sorted set, again and again, would pass each that it took before.
//
// gaps remembers ranges of keys in which nothing is alive, so that a walk begins again
// behind them. It is no part of the state: what is not remembered costs time only.
type gaps struct {
	ranges btree.Map[string, gapEnd] // by where they begin; disjoint
	bytes  int                       // of their keys, at most: those that went may be counted still
}

// gapEnd is up to where a gap goes, without that, and about how many removed things a walk
// through it would pass.
type gapEnd struct {
	to string
	n  int
}

// gap is a range of keys: from, and up to to but without it.
type gap struct{ from, to string }

const (
	// leastGap is how many removed things in a row are worth a gap.
	leastGap = 8
	// maxGaps bounds the memory. Of more, the shorter half is forgotten, to be found again:
	// who passes those also passes many things that are alive, and that is charged for. So
	// many are needed because all memtables together can hold a million removed things.
	maxGaps = 1 << 16
	// maxGapBytes bounds the keys of the gaps: a name can be 32,000 bytes long.
	maxGapBytes = 8 << 20
)

// at returns the gap that a key is in. g may be nil.
func (g *gaps) at(key string) (found gap, ok bool) {
	if g == nil || g.ranges.Len() == 0 {
		return gap{}, false
	}
	g.ranges.Descend(key, func(from string, r gapEnd) bool {
		found, ok = gap{from, r.to}, key < r.to
		return false
	})
	return found, ok
}

// add remembers a gap of n removed things. It absorbs the gaps that it touches.
func (g *gaps) add(x gap, n int) {
	if before, ok := g.at(x.from); ok {
		x.from = before.from
	}
	var inside []string
	g.ranges.Ascend(x.from, func(from string, r gapEnd) bool {
		if from > x.to {
			return false
		}
		inside = append(inside, from)
		x.to = max(x.to, r.to)
		n += r.n
		return true
	})
	for _, from := range inside {
		g.ranges.Delete(from)
	}
	g.set(x.from, gapEnd{x.to, n})
	g.shrink()
}

func (g *gaps) set(from string, end gapEnd) {
	g.ranges.Set(from, end)
	g.bytes += len(from) + len(end.to)
}

// cut takes a key out that came to life.
func (g *gaps) cut(key string) {
	x, ok := g.at(key)
	if !ok {
		return
	}
	old, _ := g.ranges.Delete(x.from)
	if x.from < key {
		g.set(x.from, gapEnd{key, old.n / 2})
	}
	if above := key + "\x00"; above < x.to {
		g.set(above, gapEnd{x.to, old.n / 2})
	}
	g.shrink()
}

// shrink forgets the shorter half of the gaps if there are too many, or their keys too long.
func (g *gaps) shrink() {
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
	least, left := lengths[len(lengths)/2], new(gaps)
	g.ranges.Scan(func(from string, r gapEnd) bool {
		if r.n > least {
			left.set(from, r)
		}
		return true
	})
	*g = *left
}

// copied returns gaps that do not change with g, which may be nil. The caller sees to it
// that g is not changed while it is copied.
func (g *gaps) copied() *gaps {
	if g == nil {
		return nil
	}
	return &gaps{ranges: *g.ranges.IsoCopy()}
}

// gapChance is the probability that the removal of an element looks for a gap around it. It
// is high enough that a walk passes few removed elements wherever they were, and low enough
// that the removal of scattered elements costs little more.
const gapChance = 1. / 8

// noteGap looks sometimes whether an element of an owned head, just removed, is in a gap.
// A read error is left to the operation that needs what is damaged.
func (m *Machine) noteGap(h *head, name string) {
	if m.active.tailOf(h).complete || m.cfg.Rand() >= gapChance {
		return // nothing is left of it
	}
	e, err := m.elements(h)
	if err != nil {
		return
	}
	first := func(string, []byte) bool { return false }
	if e.ascend(name, first) != nil {
		return
	}
	x := gap{from: elementKey(h.Inc, name), to: e.edge}
	if e.descend(name, first) != nil {
		return
	}
	if e.edge != "" {
		x.from = e.edge
	}
	if e.dead < leastGap || x.to == "" {
		return
	}
	run := deadRun{learned: &h.gaps, gap: x, n: int(e.dead)}
	run.end()
}

// deadRun follows a walk, either way, through keys that are gone, to find gaps.
type deadRun struct {
	// learned is where gaps are remembered that the walk finds. Nil: it is not alone with
	// the state.
	learned **gaps
	n       int // keys in a row, a known gap counting as one
	gap
}

// add notes that the walk passes a part of the run.
func (r *deadRun) add(x gap) {
	if r.n++; r.n == 1 {
		r.gap = x
		return
	}
	r.from, r.to = min(r.from, x.from), max(r.to, x.to)
}

// end ends a run.
func (r *deadRun) end() {
	if r.learned != nil && r.n >= leastGap {
		if *r.learned == nil {
			*r.learned = new(gaps)
		}
		(*r.learned).add(r.gap, r.n)
	}
	r.n = 0
}

package fsm

import "github.com/tidwall/btree"

// A key or element that was removed stays in the memtables, as removed, until it has left
// the store. A walk would pass all of them one by one: a client that takes the lowest
// member of a sorted set, again and again, would pass each that it took before.
//
// gaps remembers ranges of keys in which nothing is alive, so that a walk begins again
// behind them. It is no part of the state: what is not remembered costs time only.
type gaps struct{ ranges btree.Map[string, string] } // from → to; disjoint

// gap is a range of keys: from, and up to to but without it.
type gap struct{ from, to string }

const (
	// leastGap is how many removed things in a row are worth a gap.
	leastGap = 8
	// maxGaps bounds the memory. Of more, all are forgotten, to be found again.
	maxGaps = 1000
)

// at returns the gap that a key is in. g may be nil.
func (g *gaps) at(key string) (found gap, ok bool) {
	if g == nil || g.ranges.Len() == 0 {
		return gap{}, false
	}
	g.ranges.Descend(key, func(from, to string) bool {
		found, ok = gap{from, to}, key < to
		return false
	})
	return found, ok
}

// add remembers a gap. It absorbs the gaps that it touches.
func (g *gaps) add(x gap) {
	if before, ok := g.at(x.from); ok {
		x.from = before.from
	}
	var inside []string
	g.ranges.Ascend(x.from, func(from, to string) bool {
		if from > x.to {
			return false
		}
		inside = append(inside, from)
		x.to = max(x.to, to)
		return true
	})
	for _, from := range inside {
		g.ranges.Delete(from)
	}
	if g.ranges.Len() >= maxGaps {
		g.ranges.Clear()
	}
	g.ranges.Set(x.from, x.to)
}

// cut takes a key out that came to life.
func (g *gaps) cut(key string) {
	x, ok := g.at(key)
	if !ok {
		return
	}
	g.ranges.Delete(x.from)
	if x.from < key {
		g.ranges.Set(x.from, key)
	}
	if above := key + "\x00"; above < x.to {
		g.ranges.Set(above, x.to)
	}
	if g.ranges.Len() > maxGaps {
		g.ranges.Clear()
	}
}

// copied returns gaps that do not change with g, which may be nil. The caller sees to it
// that g is not changed meanwhile.
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
	x := gap{from: elementKey(h.inc, name), to: e.edge}
	if e.descend(name, first) != nil {
		return
	}
	if e.edge != "" {
		x.from = e.edge
	}
	if e.dead < leastGap || x.to == "" {
		return
	}
	if h.gaps == nil {
		h.gaps = new(gaps)
	}
	h.gaps.add(x)
}

// deadRun follows a walk through keys that are gone, to find gaps.
type deadRun struct {
	gaps   *gaps
	learns bool // the walk is alone with the state, and may add to the gaps
	n      int  // keys in a row, a gap counting as one
	gap
}

// add notes a key that is gone. jumps tells that none is left before to.
func (r *deadRun) add(key string) (to string, jumps bool) {
	known, jumps := r.gaps.at(key)
	if r.n++; r.n == 1 {
		r.from = key
	}
	r.to = key + "\x00"
	if jumps {
		r.to = known.to
	}
	return r.to, jumps
}

// end ends a run.
func (r *deadRun) end() {
	if r.learns && r.n >= leastGap {
		r.gaps.add(r.gap)
	}
	r.n = 0
}

package values

import (
	"cmp"
	"maps"
	"slices"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

// mostMembers is how many bytes of memory the members may take that one operation stores; mostLooked is what it may
// cost to find them, where it costs passedElement to pass a member and lookedUp to look for it in another set. They
// decide what the state is, so that they must stay as they are.
const (
	mostMembers = 32 << 20
	mostLooked  = 64 << 20
	lookedUp    = 64
)

// Set is one of the sets that are combined.
type Set struct {
	Elements memtable.Elements
	Count    uint64
}

// Combination is a combination of sets in the making.
type Combination struct {
	of    *turn.CombineSets
	sets  []*Set // nil: a set without members
	left  int    // bytes of memory that the members may yet take
	names []string
	count uint64
	// Cost is what it has cost to find them.
	Cost uint64
	err  error
}

// NewCombination begins a combination of sets, as many as q has keys, of which those without members are nil. Its
// members take limit bytes of memory at most.
func NewCombination(q *turn.CombineSets, sets []*Set, limit int) *Combination {
	return &Combination{of: q, sets: sets, left: limit}
}

// Answer finds the members, or how many they are.
func (c *Combination) Answer(r *turn.Result) error {
	if err := c.find(); err != nil {
		return err
	}
	if r.Count = c.count; c.of.OnlyCount {
		return nil
	}
	r.Elements = make([]turn.Element, len(c.names))
	for i, name := range c.names {
		r.Elements[i].Name = name
	}
	return nil
}

func (c *Combination) find() error {
	switch c.of.By {
	case turn.Union:
		return c.union()
	case turn.Difference:
		return c.among(c.sets[0], c.sets[1:], false)
	}
	if slices.Contains(c.sets, nil) {
		return nil
	}
	sets := slices.Clone(c.sets)
	slices.SortStableFunc(sets, func(a, b *Set) int { return cmp.Compare(a.Count, b.Count) })
	return c.among(sets[0], sets[1:], true)
}

// among takes the members of a set that all others have, or that none of them has.
func (c *Combination) among(set *Set, others []*Set, have bool) error {
	return c.each(set, func(name string) bool {
		for _, other := range others {
			if other == nil {
				continue
			}
			if c.Cost += lookedUp; c.spent() {
				return false
			}
			_, has, err := other.Elements.Get(name)
			if err != nil {
				c.err = err
				return false
			}
			if has != have {
				return true
			}
		}
		return c.take(name)
	})
}

// union takes the members of all sets.
func (c *Combination) union() error {
	seen := make(map[string]struct{})
	for _, set := range c.sets {
		err := c.each(set, func(name string) bool {
			if _, known := seen[name]; known {
				return true
			}
			seen[name] = struct{}{}
			c.count++
			return c.fits(name) && !c.full()
		})
		if err != nil {
			return err
		}
		if c.full() {
			return nil
		}
	}
	if !c.of.OnlyCount {
		c.names = slices.Sorted(maps.Keys(seen))
	}
	return nil
}

// each calls fn with the members of a set, until it returns false.
func (c *Combination) each(set *Set, fn func(name string) bool) error {
	if set == nil {
		return nil
	}
	n, whole := uint64(0), true
	err := set.Elements.Ascend("", func(name string, _ []byte) bool {
		n++
		c.Cost += passedElement
		whole = !c.spent() && fn(name)
		return whole
	})
	switch {
	case c.err != nil:
		return c.err
	case err == nil && whole && n != set.Count:
		return layout.HeadCountsMore(set.Elements.Inc)
	}
	return err
}

func (c *Combination) take(name string) bool {
	if c.count++; c.of.OnlyCount {
		return !c.full()
	}
	c.names = append(c.names, name)
	return c.fits(name)
}

// full reports whether as many members were counted as are wanted.
func (c *Combination) full() bool { return c.of.Limit > 0 && c.count == c.of.Limit }

func (c *Combination) fits(name string) bool {
	if c.left -= memtable.ElementCost + len(name); c.left < 0 {
		c.err = turn.Errorf(turn.TooLarge, "the combination of these sets has more members than one operation may have")
	}
	return c.err == nil
}

func (c *Combination) spent() bool {
	if c.Cost > mostLooked {
		c.err = turn.Errorf(turn.TooLarge, "these sets have more members than one operation may look at")
	}
	return c.err != nil
}

// storeSets finds the members before it changes anything: what is stored is whole, or refused.
func (v ops) storeSets(o *turn.StoreSets, r *turn.Result) error {
	names, err := v.combine(&o.Of)
	if err != nil {
		return err
	}
	key := layout.JoinKey(o.To)
	there, err := v.Find(key)
	switch {
	case err != nil:
		return err
	case len(names) == 0:
		if there.Held() {
			v.Remove(key, there)
			r.Removed = 1
		}
		r.Revision = v.Revision(key)
		return nil
	case there != nil:
		v.Remove(key, there)
	}
	h := v.Begin(key, turn.TypeSet)
	for _, name := range names {
		v.put(h, name, nil, nil, false)
	}
	v.settle(key, h, false, r)
	return nil
}

// combine finds the members of a combination, and pays for that and for storing them. What is refused uses up the
// rest of what the entry may cost, so that not as much is looked at again and again.
func (v ops) combine(q *turn.CombineSets) ([]string, error) {
	if err := v.Spend(1); err != nil {
		return nil, err
	}
	sets := make([]*Set, len(q.Keys))
	for i, k := range q.Keys {
		h, err := v.value(layout.JoinKey(k), turn.TypeSet)
		if err != nil {
			return nil, err
		}
		if h == nil {
			continue
		}
		e, err := v.Elements(h)
		if err != nil {
			return nil, err
		}
		sets[i] = &Set{e, h.Count()}
	}
	c := NewCombination(q, sets, mostMembers)
	err := c.find()
	if paid := v.Spend(c.Cost + 2*uint64(mostMembers-c.left)); err == nil {
		err = paid
	}
	return c.names, err
}

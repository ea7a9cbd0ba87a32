package fsm

import (
	"github.com/tidwall/btree"

	"github.com/turnlog/turnlog/fsm/internal/gaps"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/store"
)

// A value of another type than a list is a set of elements: pairs of a name,
// which says what it is within the key, and a value.
//
//	string   ""                                → the string
//	hash     field                             → its value
//	set      member                            → nothing
//	zset     'm' member                        → 8 bytes, its score (see scoreKey)
//	         's' 8 bytes of score, member      → nothing
//	stream   16 bytes of id, big endian        → the entry (see encodeEntry)
//
// All elements of all keys are in one order, by ElementKey: in a tree of each memtable,
// and in one bucket of the store.

// change is what a memtable did to an element: gave it a value, or removed it.
type change struct {
	value []byte
	gone  bool
}

// overlay is what a memtable changed of elements, by ElementKey.
type overlay = btree.Map[string, change]

const (
	elementCost = 80 // memory that a change takes besides its own bytes
)

// setElement records a change. The caller gives value away.
func (t *memtable) setElement(inc uint64, name string, c change) {
	key := layout.ElementKey(inc, name)
	if w := t.tails[inc]; c.gone && w != nil && w.complete {
		// Nothing older holds it: there is nothing to hide.
		if old, known := t.elements.Delete(key); known {
			t.bytes -= elementCost + len(key) + len(old.value)
		}
		return
	}
	old, known := t.elements.Set(key, c)
	if !known {
		t.bytes += elementCost + len(key)
	}
	t.bytes += len(c.value) - len(old.value)
}

// elements is one key's elements at one moment: memtables over the store. What it returns is the caller's to keep, but
// not to write to.
type elements struct {
	inc   uint64
	front string    // no element with a lower name is left
	gaps  *gaps.Set // by ElementKey; nil: none are known
	// learned is where walks of Apply remember the gaps that they find.
	learned **gaps.Set
	layers  []*overlay // newest first
	// tx reads the store; nil if the layers hold everything, or if partial.
	tx *store.Reading
	// partial: the store may hold more, but is not read. missed: that was asked for.
	partial, missed bool
	// passed counts the elements that walks have shown. What they passed besides was
	// removed: dead counts it, and edge is where the last of it ends, in the direction of
	// the walk. Both differ between nodes.
	passed, dead uint64
	edge         string
}

// elementsIn returns what the memtables know of the elements of an
// incarnation; whole tells that the store knows nothing more. It is valid while
// mu is held.
func (m *Machine) elementsIn(inc uint64) (e elements, whole bool) {
	e.inc, e.layers = inc, make([]*overlay, 0, maxMemtables)
	for _, t := range m.memtables() {
		e.layers = append(e.layers, &t.elements)
		if w := t.tails[inc]; w != nil && w.complete {
			return e, true
		}
	}
	return e, false
}

// elements returns a key's elements, store included. Only for use in Apply.
func (m *Machine) elements(h *head) (elements, error) {
	e, whole := m.elementsIn(h.Inc)
	e.of(h)
	e.learned = &h.gaps
	if whole {
		return e, nil
	}
	var err error
	e.tx, err = m.storeTx()
	return e, err
}

// putElement gives an element of an owned head a value, which is not written to again.
func (m *Machine) putElement(h *head, name string, value []byte) {
	if h.gaps != nil {
		h.gaps.Cut(layout.ElementKey(h.Inc, name))
	}
	m.active.setElement(h.Inc, name, change{value: value})
}

// deleteElement deletes an element of an owned head that is there.
func (m *Machine) deleteElement(h *head, name string) {
	m.active.setElement(h.Inc, name, change{gone: true})
	m.noteGap(h, name)
}

// dropBelow deletes all elements of an owned head with names below name, without a look at
// them.
func (m *Machine) dropBelow(h *head, name string) { m.active.raiseFloor(h.Inc, name) }

// of takes from a head what it knows of its elements.
func (e *elements) of(h *head) { e.inc, e.front, e.gaps = h.Inc, h.front, h.gaps }

// hold makes e and its head, which were found in memory under mu, valid beyond it: the
// active memtable goes on from a copy of what was shared.
func (m *Machine) hold(e *elements, h *head) {
	m.copying.Lock()
	e.layers[0] = e.layers[0].IsoCopy()
	h.gaps = h.gaps.Copied()
	m.copying.Unlock()
}

func (e *elements) get(name string) (value []byte, ok bool, err error) {
	if name < e.front {
		return nil, false, nil
	}
	key := layout.ElementKey(e.inc, name)
	for _, l := range e.layers {
		if c, known := l.Get(key); known {
			return c.value, !c.gone, nil
		}
	}
	if e.tx == nil {
		e.missed = e.missed || e.partial
		return nil, false, nil
	}
	v, err := e.tx.Get(layout.BucketElements, []byte(key))
	if v == nil || err != nil {
		return nil, false, err
	}
	value, err = layout.OpenElement([]byte(key), v)
	return value, err == nil, err
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
	x := gaps.Gap{From: layout.ElementKey(h.Inc, name), To: e.edge}
	if e.descend(name, first) != nil {
		return
	}
	if e.edge != "" {
		x.From = e.edge
	}
	if e.dead < gaps.Least || x.To == "" {
		return
	}
	run := gaps.Run{Learned: &h.gaps, Gap: x, N: int(e.dead)}
	run.End()
}

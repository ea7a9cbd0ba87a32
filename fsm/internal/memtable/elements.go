package memtable

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
	ElementCost = 80 // memory that a change takes besides its own bytes
)

// setElement records a change. The caller gives value away.
func (t *Table) setElement(inc uint64, name string, c change) {
	key := layout.ElementKey(inc, name)
	if w := t.tails[inc]; c.gone && w != nil && w.complete {
		// Nothing older holds it: there is nothing to hide.
		if old, known := t.elements.Delete(key); known {
			t.Bytes -= ElementCost + len(key) + len(old.value)
		}
		return
	}
	old, known := t.elements.Set(key, c)
	if !known {
		t.Bytes += ElementCost + len(key)
	}
	t.Bytes += len(c.value) - len(old.value)
}

// DeleteOnce deletes an element of a head that t holds, whose name is given a value once in all the
// life of the key. If t gave it, nothing older knows the name: there is nothing to hide.
func (t *Table) DeleteOnce(h *Head, name string) {
	key := layout.ElementKey(h.Inc, name)
	if old, known := t.elements.Get(key); known && !old.gone {
		t.elements.Delete(key)
		t.Bytes -= ElementCost + len(key) + len(old.value)
		return
	}
	t.setElement(h.Inc, name, change{gone: true})
}

// Elements is one key's elements at one moment: memtables over the store. What it returns is the caller's to keep, but
// not to write to.
type Elements struct {
	Inc   uint64
	front string    // no element with a lower name is left
	Gaps  *gaps.Set // by ElementKey; nil: none are known
	// learned is where walks of Apply remember the gaps that they find.
	learned **gaps.Set
	layers  []*overlay // newest first
	// Tx reads the store; nil if the layers hold everything, or if partial.
	Tx *store.Reading
	// Partial: the store may hold more, but is not read. missed: that was asked for.
	Partial, Missed bool
	// Passed counts the elements that walks have shown. What they passed besides was
	// removed: dead counts it, and edge is where the last of it ends, in the direction of
	// the walk. Both differ between nodes.
	Passed, Dead uint64
	edge         string
}

// Of takes from a head what it knows of its elements.
func (e *Elements) Of(h *Head) { e.Inc, e.front, e.Gaps = h.Inc, h.Front, h.gaps }

func (e *Elements) Get(name string) (value []byte, ok bool, err error) {
	if name < e.front {
		return nil, false, nil
	}
	key := layout.ElementKey(e.Inc, name)
	for _, l := range e.layers {
		if c, known := l.Get(key); known {
			return c.value, !c.gone, nil
		}
	}
	if e.Tx == nil {
		e.Missed = e.Missed || e.Partial
		return nil, false, nil
	}
	v, err := e.Tx.Get(layout.BucketElements, []byte(key))
	if v == nil || err != nil {
		return nil, false, err
	}
	value, err = layout.OpenElement([]byte(key), v)
	return value, err == nil, err
}

// PutElement gives an element of a head that t holds a value, which is not written to again.
func (t *Table) PutElement(h *Head, name string, value []byte) {
	if h.gaps != nil {
		h.gaps.Cut(layout.ElementKey(h.Inc, name))
	}
	t.setElement(h.Inc, name, change{value: value})
}

// DeleteElement deletes an element of a head that t holds.
func (t *Table) DeleteElement(h *Head, name string) {
	t.setElement(h.Inc, name, change{gone: true})
}

// LearnFor takes from a head of Apply what it knows of its elements, and has it learn more.
func (e *Elements) LearnFor(h *Head) {
	e.Of(h)
	e.learned = &h.gaps
}

// LearnAround looks for a gap around an element that was just removed.
func (e *Elements) LearnAround(name string) {
	first := func(string, []byte) bool { return false }
	if e.Ascend(name, first) != nil {
		return
	}
	x := gaps.Gap{From: layout.ElementKey(e.Inc, name), To: e.edge}
	if e.Descend(name, first) != nil {
		return
	}
	if e.edge != "" {
		x.From = e.edge
	}
	if e.Dead < gaps.Least || x.To == "" {
		return
	}
	run := gaps.Run{Learned: e.learned, Gap: x, N: int(e.Dead)}
	run.End()
}

// StoredElements returns the elements of a head that are in the store alone.
func StoredElements(h *Head, tx *store.Reading) *Elements {
	return &Elements{Inc: h.Inc, front: h.Front, Tx: tx}
}

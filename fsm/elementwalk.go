package fsm

import (
	"github.com/turnlog/turnlog/fsm/internal/gaps"
	"github.com/turnlog/turnlog/fsm/internal/layout"
)

// ascend calls fn with each element whose name is at least from, in order, until
// fn returns false.
func (e *elements) ascend(from string, fn func(name string, value []byte) bool) error {
	it := e.walk(false)
	it.seek(layout.ElementKey(e.inc, from))
	return e.each(it, fn)
}

// descend is ascend the other way, with names below before.
func (e *elements) descend(before string, fn func(name string, value []byte) bool) error {
	it := e.walk(true)
	it.seek(layout.ElementKey(e.inc, before))
	return e.each(it, fn)
}

// walk returns an iterator over the changes and the store, within the key's elements.
func (e *elements) walk(down bool) *mergeIter[change] {
	it := &mergeIter[change]{down: down, low: layout.ElementKey(e.inc, e.front), high: layout.ElementKey(e.inc+1, "")}
	for _, l := range e.layers {
		it.addMemory(l)
	}
	if e.tx != nil {
		it.readStore(e.tx, layout.BucketElements)
	}
	return it
}

// each calls fn with what it comes to, until fn returns false.
func (e *elements) each(it *mergeIter[change], fn func(name string, value []byte) bool) error {
	e.edge = ""
	run := gaps.Run{Learned: e.learned}
	defer run.End()
	for it.next() {
		value, there, err := elementAt(it)
		switch {
		case err != nil:
			return err
		case !there:
			run.Add(e.skip(it))
			continue
		}
		run.End()
		e.passed++
		if !fn(it.key[layout.IncSize:], value) {
			return nil
		}
	}
	return it.err
}

// elementAt returns the element that it is at, unless that was removed.
func elementAt(it *mergeIter[change]) (value []byte, there bool, err error) {
	if c, ok := it.changed(); ok {
		return c.value, !c.gone, nil
	}
	value, err = layout.OpenElement(it.stored())
	return value, err == nil, err
}

// skip goes behind the gap that a removed element is in, if one is known, and returns what
// it passed.
func (e *elements) skip(it *mergeIter[change]) gaps.Gap {
	e.dead++
	x, known := e.gaps.At(it.key)
	switch {
	case known && it.down:
		x.To = layout.AfterKey(it.key)
	case known:
		x.From = it.key
	default:
		x = gaps.Gap{From: it.key, To: layout.AfterKey(it.key)}
	}
	e.edge = x.To
	if it.down {
		e.edge = x.From
	}
	if known {
		it.seek(e.edge)
	}
	return x
}

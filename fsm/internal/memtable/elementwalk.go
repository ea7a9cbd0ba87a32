package memtable

import (
	"github.com/turnlog/turnlog/fsm/internal/gaps"
	"github.com/turnlog/turnlog/fsm/internal/layout"
)

// Ascend calls fn with each element whose name is at least from, in order, until
// fn returns false.
func (e *Elements) Ascend(from string, fn func(name string, value []byte) bool) error {
	it := e.walk(false)
	it.Seek(layout.ElementKey(e.Inc, from))
	return e.each(it, fn)
}

// Descend is ascend the other way, with names below before.
func (e *Elements) Descend(before string, fn func(name string, value []byte) bool) error {
	it := e.walk(true)
	it.Seek(layout.ElementKey(e.Inc, before))
	return e.each(it, fn)
}

// walk returns an iterator over the changes and the store, within the key's elements.
func (e *Elements) walk(down bool) *mergeIter[change] {
	it := &mergeIter[change]{down: down, low: layout.ElementKey(e.Inc, e.front), high: layout.ElementKey(e.Inc+1, "")}
	for _, l := range e.layers {
		it.addMemory(l)
	}
	if e.Tx != nil {
		it.readStore(e.Tx, layout.BucketElements)
	}
	return it
}

// each calls fn with what it comes to, until fn returns false.
func (e *Elements) each(it *mergeIter[change], fn func(name string, value []byte) bool) error {
	e.edge = ""
	run := gaps.Run{Learned: e.learned}
	defer run.End()
	for it.Next() {
		value, there, err := elementAt(it)
		switch {
		case err != nil:
			return err
		case !there:
			run.Add(e.skip(it))
			continue
		}
		run.End()
		e.Passed++
		if !fn(it.Key[layout.IncSize:], value) {
			return nil
		}
	}
	return it.Err
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
func (e *Elements) skip(it *mergeIter[change]) gaps.Gap {
	e.Dead++
	x, known := e.Gaps.At(it.Key)
	switch {
	case known && it.down:
		x.To = layout.AfterKey(it.Key)
	case known:
		x.From = it.Key
	default:
		x = gaps.Gap{From: it.Key, To: layout.AfterKey(it.Key)}
	}
	e.edge = x.To
	if it.down {
		e.edge = x.From
	}
	if known {
		it.Seek(e.edge)
	}
	return x
}

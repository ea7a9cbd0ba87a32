package fsm

// ascend calls fn with each element whose name is at least from, in order, until
// fn returns false.
func (e *elements) ascend(from string, fn func(name string, value []byte) bool) error {
	it := e.walk(false)
	it.seek(elementKey(e.inc, from))
	return e.each(it, fn)
}

// descend is ascend the other way, with names below before.
func (e *elements) descend(before string, fn func(name string, value []byte) bool) error {
	it := e.walk(true)
	it.seek(elementKey(e.inc, before))
	return e.each(it, fn)
}

// walk returns an iterator over the changes and the store, within the key's elements.
func (e *elements) walk(down bool) *mergeIter[change] {
	it := &mergeIter[change]{down: down, low: elementKey(e.inc, e.front), high: elementKey(e.inc+1, "")}
	for _, l := range e.layers {
		it.addMemory(l)
	}
	if e.tx != nil {
		it.cursor = e.tx.Bucket(bucketElements).Cursor()
	}
	return it
}

// each calls fn with what it comes to, until fn returns false.
func (e *elements) each(it *mergeIter[change], fn func(name string, value []byte) bool) error {
	e.edge = ""
	for it.next() {
		value, there, err := elementAt(it)
		switch {
		case err != nil:
			return err
		case !there:
			e.skip(it)
			continue
		}
		e.passed++
		if !fn(it.key[incSize:], value) {
			return nil
		}
	}
	return nil
}

// elementAt returns the element that it is at, unless that was removed.
func elementAt(it *mergeIter[change]) (value []byte, there bool, err error) {
	if c, ok := it.changed(); ok {
		return c.value, !c.gone, nil
	}
	value, err = openElement(it.stored())
	return value, err == nil, err
}

// skip goes behind the gap that a removed element is in, if one is known.
func (e *elements) skip(it *mergeIter[change]) {
	e.dead++
	x, ok := e.gaps.at(it.key)
	switch {
	case ok && it.down:
		e.edge = x.from
		it.seek(e.edge)
	case ok:
		e.edge = x.to
		it.seek(e.edge)
	case it.down:
		e.edge = it.key
	default:
		e.edge = afterKey(it.key)
	}
}

package fsm

import (
	"strings"

	"github.com/tidwall/btree"
	"go.etcd.io/bbolt"
)

// elementWalk goes through one key's elements in order of their names, either
// way, each once.
type elementWalk struct {
	prefix string // of all their keys
	front  string // no element with a lower key is left
	layers []btree.MapIter[string, change]
	valid  []bool
	cursor *bbolt.Cursor // nil: the store holds none
	k, v   []byte        // of the store
	down   bool
}

// ascend calls fn with each element whose name is at least from, in order, until
// fn returns false.
func (e *elements) ascend(from string, fn func(name string, value []byte) bool) error {
	w := e.walk(false)
	w.seek(elementKey(e.inc, max(from, e.front)))
	return e.each(w, fn)
}

// descend is ascend the other way, with names below before.
func (e *elements) descend(before string, fn func(name string, value []byte) bool) error {
	w := e.walk(true)
	w.seek(elementKey(e.inc, before))
	return e.each(w, fn)
}

func (e *elements) walk(down bool) *elementWalk {
	w := &elementWalk{prefix: elementKey(e.inc, ""), front: elementKey(e.inc, e.front), valid: make([]bool, len(e.layers)), down: down}
	for _, l := range e.layers {
		w.layers = append(w.layers, l.Iter())
	}
	if e.tx != nil {
		w.cursor = e.tx.Bucket(bucketElements).Cursor()
	}
	return w
}

// seek goes to the first key from at on or, down, to the last one before it.
func (w *elementWalk) seek(at string) {
	for i := range w.layers {
		switch it := &w.layers[i]; {
		case !w.down:
			w.valid[i] = it.Seek(at)
		case it.Seek(at):
			w.valid[i] = it.Prev()
		default:
			w.valid[i] = it.Last()
		}
	}
	if w.cursor == nil {
		return
	}
	w.k, w.v = w.cursor.Seek([]byte(at))
	switch {
	case !w.down:
	case w.k != nil:
		w.k, w.v = w.cursor.Prev()
	default:
		w.k, w.v = w.cursor.Last()
	}
}

// each calls fn with what w comes to, until fn returns false.
func (e *elements) each(w *elementWalk, fn func(name string, value []byte) bool) error {
	e.edge = ""
	for {
		key, ok := w.next()
		if !ok || !strings.HasPrefix(key, w.prefix) || key < w.front {
			return nil
		}
		value, there, err := w.pass(key)
		switch {
		case err != nil:
			return err
		case !there:
			e.skip(w, key)
			continue
		}
		e.passed++
		if !fn(key[incSize:], value) {
			return nil
		}
	}
}

// skip goes behind the gap that a removed element is in, if one is known.
func (e *elements) skip(w *elementWalk, key string) {
	e.dead++
	x, ok := e.gaps.at(key)
	switch {
	case ok && w.down:
		e.edge = x.from
		w.seek(e.edge)
	case ok:
		e.edge = x.to
		w.seek(e.edge)
	case w.down:
		e.edge = key
	default:
		e.edge = key + "\x00"
	}
}

// next returns the key that comes first.
func (w *elementWalk) next() (key string, ok bool) {
	if w.k != nil {
		key, ok = string(w.k), true
	}
	for i := range w.layers {
		if w.valid[i] {
			if k := w.layers[i].Key(); !ok || (k < key) != w.down {
				key, ok = k, true
			}
		}
	}
	return key, ok
}

// pass moves all that stand at key on and returns what the newest says.
func (w *elementWalk) pass(key string) (value []byte, there bool, err error) {
	known := false
	for i := range w.layers {
		it := &w.layers[i]
		if !w.valid[i] || it.Key() != key {
			continue
		}
		if !known {
			known, value, there = true, it.Value().value, !it.Value().gone
		}
		if w.down {
			w.valid[i] = it.Prev()
		} else {
			w.valid[i] = it.Next()
		}
	}
	if w.k == nil || string(w.k) != key {
		return value, there, nil
	}
	if !known {
		there = true
		value, err = openElement(w.k, w.v)
	}
	if w.down {
		w.k, w.v = w.cursor.Prev()
	} else {
		w.k, w.v = w.cursor.Next()
	}
	return value, there, err
}

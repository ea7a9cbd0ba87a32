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
	at := elementKey(e.inc, max(from, e.front))
	for i := range w.layers {
		w.valid[i] = w.layers[i].Seek(at)
	}
	if w.cursor != nil {
		w.k, w.v = w.cursor.Seek([]byte(at))
	}
	return w.each(fn)
}

// descend is ascend the other way, with names below before.
func (e *elements) descend(before string, fn func(name string, value []byte) bool) error {
	w := e.walk(true)
	at := elementKey(e.inc, before)
	for i := range w.layers {
		if w.layers[i].Seek(at) {
			w.valid[i] = w.layers[i].Prev()
		} else {
			w.valid[i] = w.layers[i].Last()
		}
	}
	if w.cursor != nil {
		if k, _ := w.cursor.Seek([]byte(at)); k != nil {
			w.k, w.v = w.cursor.Prev()
		} else {
			w.k, w.v = w.cursor.Last()
		}
	}
	return w.each(fn)
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

func (w *elementWalk) each(fn func(name string, value []byte) bool) error {
	for {
		key, ok := w.next()
		if !ok || !strings.HasPrefix(key, w.prefix) || key < w.front {
			return nil
		}
		value, there, err := w.pass(key)
		if err != nil {
			return err
		}
		if there && !fn(key[incSize:], value) {
			return nil
		}
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

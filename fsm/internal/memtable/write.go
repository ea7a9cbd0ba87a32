package memtable

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/store"
)

// Writer writes a memtable to the store, in one transaction.
type Writer struct {
	tx      *store.Update
	Table   *Table
	Pacer   *store.Pacer // nil: as fast as it can
	Blocks  int
	Garbage bool // there is some to be removed
	// These are memory that is used again and again.
	fresh, merged []layout.Record
	encoded, key  []byte
}

// Write writes the memtable in an update.
func (w *Writer) Write(u *store.Update) error {
	w.tx = u
	for _, step := range []func() error{
		w.writeTails, w.writeElements, w.writeHeads, w.writeDue, w.writeTombstones, w.writeFloors, w.writeNamespaces,
		w.writeMeta,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	w.Garbage = u.Untidy(w.Table.Meta.Clock)
	return nil
}

func (w *Writer) writeElements() error {
	b := w.tx.Bucket(layout.BucketElements)
	var err error
	w.Table.elements.Scan(func(k string, c change) bool {
		key := []byte(k)
		if t := w.Table.tails[binary.BigEndian.Uint64(key)]; t != nil && t.gone {
			return true // garbage already
		}
		w.Blocks++
		w.Pacer.Did(len(k) + len(c.value))
		if c.gone {
			err = b.Delete(key)
		} else {
			err = b.Put(key, layout.Seal(key, c.value))
		}
		return err == nil
	})
	return err
}

func (w *Writer) writeHeads() error {
	b := w.tx.Bucket(layout.BucketHeads)
	var err error
	w.Table.Order.Settle(w.Table.Order.Fresh) // a listing waits for a part of it at most
	w.Table.Order.Walk().Scan(func(key string, _ struct{}) bool {
		w.Pacer.Did(keyCost + len(key))
		w.key = append(w.key[:0], key...)
		if h := w.Table.Heads[key]; h != nil {
			err = b.Put(w.key, layout.SealInPlace(w.key, h.Append(layout.SealBuffer(layout.HeadSize))))
		} else {
			err = b.Delete(w.key)
		}
		return err == nil
	})
	return err
}

func (w *Writer) writeDue() error {
	b := w.tx.Bucket(layout.BucketDue)
	var done [][]byte
	c := b.Cursor()
	for k, v := c.First(); k != nil && string(k) <= w.Table.Meta.DueFloor; k, v = c.Next() {
		if err := layout.WholePair(layout.BucketDue, k, v); err != nil {
			return err // it may be of a key that is yet to expire
		}
		done = append(done, slices.Clone(k))
	}
	// Not by the cursor: one that deletes may pass over keys.
	for _, k := range done {
		if err := b.Delete(k); err != nil {
			return err
		}
	}
	var err error
	w.Table.due.Scan(func(k string, _ struct{}) bool {
		if k > w.Table.Meta.DueFloor {
			err = b.PutSealed([]byte(k), nil)
		}
		return err == nil
	})
	return err
}

func (w *Writer) writeNamespaces() error {
	b := w.tx.Bucket(layout.BucketNamespaces)
	for _, ns := range slices.Sorted(maps.Keys(w.Table.Namespaces)) {
		n := w.Table.Namespaces[ns]
		var err error
		if n.Keys == 0 && n.Revision == 0 {
			err = b.Delete([]byte(ns))
		} else {
			err = b.PutSealed([]byte(ns), n.Encode())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) writeMeta() error {
	b := w.tx.Bucket(layout.BucketMeta)
	if err := b.PutSealed(layout.KeyTags, w.Table.tags.Encode()); err != nil {
		return err
	}
	return b.PutSealed(layout.KeyState, w.Table.Meta.Encode())
}

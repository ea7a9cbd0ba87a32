package fsm

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/turnlog/turnlog/fsm/internal/layout"
)

// garbageChunk is how many blocks of deleted messages, and elements of deleted
// keys, are removed in one transaction at most.
const garbageChunk = 20_000

// writeTombstones records the deleted sessions whose ids are remembered, and what is
// to be removed of the deleted ones, now or when they are forgotten.
func (w *writer) writeTombstones() error {
	b := w.tx.Bucket(layout.BucketTombstones)
	type ended struct {
		when      int64
		tombstone string
	}
	gone := make(map[uint64]ended)
	for inc, t := range w.table.tails {
		if t.gone {
			gone[inc] = ended{}
		}
	}
	var err error
	w.table.tombstones.Scan(func(key string, g layout.Tombstone) bool {
		gone[g.Inc] = ended{g.Deadline, key}
		err = putSealed(b, []byte(key), g.Encode())
		return err == nil
	})
	// In the order of the garbage: bbolt splits a page when it commits, and what
	// comes in between of many on it moves them all.
	incs := slices.SortedFunc(maps.Keys(gone), func(a, b uint64) int {
		return cmp.Or(cmp.Compare(gone[a].when, gone[b].when), cmp.Compare(a, b))
	})
	for _, inc := range incs {
		if err == nil {
			err = w.discard(gone[inc].when, inc, layout.Waste{Below: layout.MaxSeq, Tombstone: gone[inc].tombstone})
			w.pacer.did(smallCost)
		}
	}
	return err
}

// writeFloors notes what is to be removed of streams that were trimmed.
func (w *writer) writeFloors() error {
	for _, inc := range slices.Sorted(maps.Keys(w.table.floors)) {
		if err := w.discard(0, inc, layout.Waste{Names: w.table.floors[inc]}); err != nil {
			return err
		}
		w.pacer.did(smallCost)
	}
	return nil
}

// discard notes what is garbage of inc from cluster time when on.
func (w *writer) discard(when int64, inc uint64, x layout.Waste) error {
	b := w.tx.Bucket(layout.BucketGarbage)
	key := layout.BlockKey(uint64(when), inc)
	if stored := b.Get(key); stored != nil {
		old, err := layout.DecodeWaste(key, stored)
		if err != nil {
			return err
		}
		x.Below, x.Names = max(x.Below, old.Below), max(x.Names, old.Names)
	}
	return putSealed(b, key, x.Encode())
}

// untidy reports whether there is garbage whose time has come, or a file to clean.
func (w *writer) untidy() bool {
	k, _ := w.tx.Bucket(layout.BucketGarbage).Cursor().First()
	if len(k) == layout.BlockKeySize {
		if when, _ := layout.SplitBlockKey(k); int64(when) <= w.table.meta.Clock {
			return true
		}
	}
	return w.space.untidy()
}

// collectGarbage removes blocks and elements whose time has come, a bounded number.
func (w *writer) collectGarbage() error {
	b := w.tx.Bucket(layout.BucketGarbage)
	budget := garbageChunk
	for budget > 0 {
		k, v := b.Cursor().First()
		if k == nil {
			return nil
		}
		k = slices.Clone(k)
		x, err := layout.DecodeWaste(k, v)
		if err != nil {
			return err
		}
		when, inc := layout.SplitBlockKey(k)
		if int64(when) > w.table.meta.Clock {
			return nil
		}
		n, err := w.removeBlocks(inc, x.Below, budget)
		if err != nil {
			return err
		}
		if x.Below == layout.MaxSeq || x.Names != "" {
			more, err := w.removeElements(inc, &x, budget-n)
			if err != nil {
				return err
			}
			n += more
		}
		if budget -= max(n, 1); budget <= 0 && n > 0 {
			break // there may be more of this key
		}
		if x.Tombstone != "" {
			if err := w.tx.Bucket(layout.BucketTombstones).Delete([]byte(x.Tombstone)); err != nil {
				return err
			}
		}
		if err := b.Delete(k); err != nil {
			return err
		}
	}
	return nil
}

// removeBlocks removes up to limit blocks of inc that hold only seqs below.
func (w *writer) removeBlocks(inc, below uint64, limit int) (int, error) {
	var keys [][]byte
	if _, _, _, err := w.space.finder.lastUpTo(layout.BlockKey(inc, 0)); err != nil {
		return 0, err
	}
	c := w.space.bucket.Cursor()
	k, v := c.Seek(layout.BlockKey(inc, 0))
	for k != nil && ofIncarnation(k, inc) && len(keys) < limit {
		key, value := slices.Clone(k), v
		_, first := layout.SplitBlockKey(k)
		if first >= below {
			break
		}
		// The next block's key is above all seqs of this one: only the last has to be read.
		k, v = c.Next()
		known := below == layout.MaxSeq
		if k != nil {
			if err := layout.WholePair(layout.BucketBlocks, k, v); err != nil {
				return 0, err
			}
		}
		if k != nil && ofIncarnation(k, inc) {
			_, next := layout.SplitBlockKey(k)
			known = known || next <= below
		}
		if !known {
			rs, err := loadBlock(w.space.files, nil, key, value)
			if err != nil {
				return 0, err
			}
			if rs[len(rs)-1].Seq >= below {
				break
			}
		}
		keys = append(keys, key)
	}
	return w.removeAll(w.space.remove, keys)
}

// removeElements removes up to limit elements of inc that are waste. What is of another, or
// none, and looks like these because its key is damaged, can only be the first or the last.
func (w *writer) removeElements(inc uint64, x *layout.Waste, limit int) (int, error) {
	b := w.tx.Bucket(layout.BucketElements)
	var keys [][]byte
	prefix := []byte(layout.ElementKey(inc, ""))
	end := []byte(layout.ElementKey(inc, x.Names))
	var first, last []byte
	c := b.Cursor()
	for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix) && len(keys) < limit; k, v = c.Next() {
		if x.Below != layout.MaxSeq && bytes.Compare(k, end) >= 0 {
			break
		}
		if last = v; len(keys) == 0 {
			first = v
		}
		keys = append(keys, slices.Clone(k))
	}
	if n := len(keys); n > 0 {
		if err := errors.Join(layout.CheckElement(keys[0], first), layout.CheckElement(keys[n-1], last)); err != nil {
			return 0, err
		}
	}
	return w.removeAll(b.Delete, keys)
}

// removeAll deletes keys, but not by a cursor: one that deletes may pass over keys.
func (w *writer) removeAll(remove func([]byte) error, keys [][]byte) (int, error) {
	for _, k := range keys {
		if err := remove(k); err != nil {
			return 0, err
		}
		w.pacer.did(smallCost)
	}
	w.blocks += len(keys)
	return len(keys), nil
}

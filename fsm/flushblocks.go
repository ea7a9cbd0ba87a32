package fsm

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"maps"
	"slices"

	"go.etcd.io/bbolt"
)

const (
	// blockBytes is the size at which a block is full. Small enough that adding
	// to the last block of a session rewrites little, big enough that reading a
	// session's tail takes one or two.
	blockBytes = 8 << 10
	// mergeBytes: a last block below it is filled up by the next flush.
	mergeBytes = blockBytes / 2
)

// writeTails brings the messages of every session that this generation touched
// up to date.
func (w *writer) writeTails() error {
	byInc := make(map[uint64]*head, len(w.table.heads))
	for _, h := range w.table.heads {
		if h != nil {
			byInc[h.inc] = h
		}
	}
	for _, inc := range slices.Sorted(maps.Keys(w.table.tails)) {
		t := w.table.tails[inc]
		s := tailWriter{writer: w, b: w.space.bucket, inc: inc, tail: t, last: t.last}
		if h := byInc[inc]; h != nil {
			s.last, s.low = h.last, h.floors()
		} else {
			s.low = [2]uint64{t.last + 1, t.last + 1}
		}
		if err := s.write(); err != nil {
			return err
		}
		w.pacer.did(t.size())
	}
	return nil
}

// tailWriter writes what a generation changed of one session's messages.
type tailWriter struct {
	*writer
	b    *bbolt.Bucket
	inc  uint64
	tail *tail
	last uint64
	low  [2]uint64
}

func (s *tailWriter) write() error {
	if !s.tail.complete {
		if err := s.bury(); err != nil {
			return err
		}
	}
	s.fresh = s.fresh[:0]
	for _, r := range s.tail.records {
		if r, keep := s.kept(r); keep {
			s.fresh = append(s.fresh, r)
		}
	}
	if len(s.fresh) == 0 {
		return nil
	}
	return s.add(s.fresh)
}

// kept returns what is stored of a record: itself while it lives, then a
// tombstone as long as its id is remembered, then nothing.
func (s *tailWriter) kept(r record) (record, bool) {
	switch {
	case !r.dead && r.seq >= s.low[r.side] && !s.tail.kills[r.side].has(r.seq):
		return r, true
	case r.id == "" || r.seq < windowStart(s.last):
		return record{}, false
	}
	return r.tombstone(), true
}

// bury takes removed messages out of the stored blocks. Blocks that nothing is
// left of are garbage, to be removed by and by.
func (s *tailWriter) bury() error {
	t := s.tail
	for _, kills := range t.kills {
		if n := len(kills); n > 0 {
			if err := s.rewrite(kills[0].from, kills[n-1].to); err != nil {
				return err
			}
		}
	}
	if t.cut == 0 {
		return nil
	}
	start := min(s.low[0], s.low[1], windowStart(s.last))
	if start > 1 {
		if err := s.discard(0, s.inc, start, ""); err != nil {
			return err
		}
	}
	// The block around the cut, and those whose ids are still remembered.
	return s.rewrite(start-1, t.cut-1)
}

// rewrite brings the stored blocks that hold seqs from … to up to date.
func (s *tailWriter) rewrite(from, to uint64) error {
	type change struct {
		key  []byte
		keep []byte // nil: nothing is left
	}
	var changes []change
	c := s.b.Cursor()
	k, v := seekLast(c, blockKey(s.inc, from))
	if k == nil || !ofIncarnation(k, s.inc) {
		k, v = c.Seek(blockKey(s.inc, from))
	}
	for ; k != nil && ofIncarnation(k, s.inc); k, v = c.Next() {
		_, first := splitBlockKey(k)
		if first > to {
			break
		}
		rs, err := loadBlock(s.space.files, nil, k, v)
		if err != nil {
			return err
		}
		left, changed := s.survivors(rs)
		if changed {
			ch := change{key: slices.Clone(k)}
			if len(left) > 0 {
				// Under its old key: seqs are stored relative to it.
				ch.keep = encodeBlock(nil, first, left)
			}
			changes = append(changes, ch)
		}
	}
	for _, ch := range changes {
		if err := s.put(ch.key, ch.keep); err != nil {
			return err
		}
	}
	return nil
}

func (s *tailWriter) survivors(rs []record) (left []record, changed bool) {
	for _, r := range rs {
		k, keep := s.kept(r)
		if keep {
			left = append(left, k)
		}
		changed = changed || !keep || k.dead != r.dead
	}
	return left, changed
}

// add stores new records behind what there is.
func (s *tailWriter) add(rs []record) error {
	first := rs[0].seq
	if !s.tail.complete {
		k, v := seekLast(s.b.Cursor(), blockKey(s.inc, first))
		if k != nil && ofIncarnation(k, s.inc) && blockSize(k, v) < mergeBytes {
			_, first = splitBlockKey(k)
			old, err := loadBlock(s.space.files, nil, k, v)
			if err != nil {
				return err
			}
			rs = append(old, rs...)
		}
	}
	for len(rs) > 0 {
		n, size := 0, 0
		for n < len(rs) && (n == 0 || size+len(rs[n].data) <= blockBytes) {
			size += len(rs[n].id) + len(rs[n].data) + 8
			n++
		}
		s.encoded = encodeBlock(s.encoded, first, rs[:n])
		if err := s.put(blockKey(s.inc, first), s.encoded); err != nil {
			return err
		}
		if rs = rs[n:]; len(rs) > 0 {
			first = rs[0].seq
		}
	}
	return nil
}

func (s *tailWriter) put(key, value []byte) error {
	s.blocks++
	if value == nil {
		return s.space.remove(key)
	}
	return s.space.put(key, value)
}

// writeGraves records the deleted sessions whose ids are remembered, and what is
// to be removed of the deleted ones, now or when they are forgotten.
func (w *writer) writeGraves() error {
	b := w.tx.Bucket(bucketGraves)
	type ended struct {
		when  int64
		grave string
	}
	gone := make(map[uint64]ended)
	for inc, t := range w.table.tails {
		if t.gone {
			gone[inc] = ended{}
		}
	}
	var err error
	w.table.graves.Scan(func(key string, g grave) bool {
		gone[g.inc] = ended{g.deadline, key}
		err = b.Put([]byte(key), binary.AppendUvarint(uvarint(g.last), uint64(g.deadline)))
		return err == nil
	})
	// In the order of the garbage: bbolt splits a page when it commits, and what
	// comes in between of many on it moves them all.
	incs := slices.SortedFunc(maps.Keys(gone), func(a, b uint64) int {
		return cmp.Or(cmp.Compare(gone[a].when, gone[b].when), cmp.Compare(a, b))
	})
	for _, inc := range incs {
		if err == nil {
			err = w.discard(gone[inc].when, inc, maxSeq, gone[inc].grave)
		}
	}
	return err
}

// discard notes that from cluster time when on, blocks of inc that hold only
// seqs below are garbage, and so is the grave. Below maxSeq, all of inc is, its
// elements too.
func (w *writer) discard(when int64, inc, below uint64, grave string) error {
	b := w.tx.Bucket(bucketGarbage)
	key := blockKey(uint64(when), inc)
	if old := b.Get(key); old != nil {
		r := reader{b: old}
		below = max(below, r.uint())
	}
	return b.Put(key, appendString(uvarint(below), grave))
}

// untidy reports whether there is garbage whose time has come, or a file to clean.
func (w *writer) untidy() bool {
	k, _ := w.tx.Bucket(bucketGarbage).Cursor().First()
	if k != nil {
		if when, _ := splitBlockKey(k); int64(when) <= w.table.meta.clock {
			return true
		}
	}
	return w.space.untidy()
}

// collectGarbage removes blocks and elements whose time has come, a bounded number.
func (w *writer) collectGarbage() error {
	b := w.tx.Bucket(bucketGarbage)
	budget := garbageChunk
	for budget > 0 {
		k, v := b.Cursor().First()
		if k == nil {
			return nil
		}
		k = slices.Clone(k)
		when, inc := splitBlockKey(k)
		if int64(when) > w.table.meta.clock {
			return nil
		}
		r := reader{b: v}
		below, grave := r.uint(), r.string()
		if err := r.end("garbage entry"); err != nil {
			return err
		}
		n, err := w.removeBlocks(inc, below, budget)
		if err != nil {
			return err
		}
		if below == maxSeq {
			more, err := w.removeElements(inc, budget-n)
			if err != nil {
				return err
			}
			n += more
		}
		if budget -= max(n, 1); budget <= 0 && n > 0 {
			break // there may be more of this key
		}
		if grave != "" {
			if err := w.tx.Bucket(bucketGraves).Delete([]byte(grave)); err != nil {
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
	b := w.space.bucket
	var keys [][]byte
	c := b.Cursor()
	for k, v := c.Seek(blockKey(inc, 0)); k != nil && ofIncarnation(k, inc) && len(keys) < limit; k, v = c.Next() {
		_, first := splitBlockKey(k)
		if first >= below {
			break
		}
		if below != maxSeq {
			rs, err := loadBlock(w.space.files, nil, k, v)
			if err != nil {
				return 0, err
			}
			if rs[len(rs)-1].seq >= below {
				break
			}
		}
		keys = append(keys, slices.Clone(k))
	}
	return w.removeAll(w.space.remove, keys)
}

// removeElements removes up to limit elements of inc.
func (w *writer) removeElements(inc uint64, limit int) (int, error) {
	b := w.tx.Bucket(bucketElements)
	var keys [][]byte
	prefix := []byte(elementKey(inc, ""))
	c := b.Cursor()
	for k, _ := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix) && len(keys) < limit; k, _ = c.Next() {
		keys = append(keys, slices.Clone(k))
	}
	return w.removeAll(b.Delete, keys)
}

// removeAll deletes keys, but not by a cursor: one that deletes may pass over keys.
func (w *writer) removeAll(remove func([]byte) error, keys [][]byte) (int, error) {
	for _, k := range keys {
		if err := remove(k); err != nil {
			return 0, err
		}
	}
	w.blocks += len(keys)
	return len(keys), nil
}

func uvarint(v uint64) []byte { return binary.AppendUvarint(nil, v) }

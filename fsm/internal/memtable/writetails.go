package memtable

import (
	"iter"
	"maps"
	"slices"

	"github.com/turnlog/turnlog/fsm/internal/layout"
)

const (
	// mergeBytes: a last block below it is filled up by the next flush.
	mergeBytes = layout.BlockBytes / 2
)

// writeTails brings the messages of every session that this memtable touched
// up to date.
func (w *Writer) writeTails() error {
	byInc := make(map[uint64]*Head, len(w.Table.Heads))
	for _, h := range w.Table.Heads {
		if h != nil {
			byInc[h.Inc] = h
		}
	}
	for _, inc := range slices.Sorted(maps.Keys(w.Table.tails)) {
		t := w.Table.tails[inc]
		s := tailWriter{Writer: w, inc: inc, tail: t, last: t.last, moves: t.moves}
		if h := byInc[inc]; h != nil {
			s.last, s.moves, s.low = h.Last, h.Moves, h.Floors()
		} else {
			s.low = [2]uint64{t.last + 1, t.last + 1}
		}
		s.start = s.moves.WindowStart(s.last)
		if err := s.write(); err != nil {
			return err
		}
		w.Pacer.Did(smallCost + t.size())
	}
	return nil
}

// tailWriter writes what a memtable changed of one session's messages.
type tailWriter struct {
	*Writer
	inc  uint64
	tail *tail
	last uint64
	low  [2]uint64
	// Ids are remembered from the seq start on, but of messages that were moved.
	start uint64
	moves layout.Moves
}

func (s *tailWriter) write() error {
	// The blocks of a deleted session are garbage as they are: its ids are found in
	// them as long as they count, and nothing else is asked for. On a disk that is
	// short of space their payloads go at once, and the ids stay.
	if !s.tail.complete && (!s.tail.gone || s.tx.ShortOfSpace()) {
		if err := s.rewriteRemoved(); err != nil {
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
func (s *tailWriter) kept(r layout.Record) (layout.Record, bool) {
	if later, ok := s.tail.edits.Get(r.Seq); ok && !r.Dead {
		r = later
	}
	switch {
	case !r.Dead && r.Seq >= s.low[r.Side] && !s.tail.removed[r.Side].Has(r.Seq):
		return r, true
	case r.ID == "" || r.Seq < s.start || s.moves.Runs.Has(r.Seq):
		return layout.Record{}, false
	}
	return r.AsTombstone(), true
}

// rewriteRemoved takes removed messages out of the stored blocks. Blocks that nothing is
// left of are garbage, to be removed gradually.
func (s *tailWriter) rewriteRemoved() error {
	t := s.tail
	for _, removed := range t.removed {
		if n := len(removed); n > 0 {
			if err := s.rewrite(removed[0].From, removed[n-1].To); err != nil {
				return err
			}
		}
	}
	if err := s.rewriteEdits(); err != nil {
		return err
	}
	if t.cut == 0 {
		return nil
	}
	start := min(s.low[0], s.low[1], s.start)
	if start > 1 {
		if err := s.tx.AddGarbage(0, s.inc, layout.Waste{Below: start}); err != nil {
			return err
		}
	}
	// The block around the cut, and those whose ids are still remembered.
	return s.rewrite(start-1, t.cut-1)
}

// rewriteEdits stores the edited messages that are in stored blocks.
func (s *tailWriter) rewriteEdits() (err error) {
	done := uint64(0) // so far all is up to date
	s.tail.edits.Scan(func(seq uint64, _ layout.Record) bool {
		if seq > done {
			done, err = s.rewriteTo(seq, seq)
		}
		return err == nil
	})
	return err
}

// rewrite brings the stored blocks that hold seqs from … to up to date.
func (s *tailWriter) rewrite(from, to uint64) error {
	_, err := s.rewriteTo(from, to)
	return err
}

// rewriteTo is rewrite, and returns the last seq that it met, to at least.
func (s *tailWriter) rewriteTo(from, to uint64) (last uint64, err error) {
	type change struct{ key, value []byte } // nil: nothing is left
	var changes []change
	last = to
	c, k, v, err := s.tx.LastBlock(layout.BlockKey(s.inc, from))
	if err != nil {
		return 0, err
	}
	if k == nil || !layout.OfIncarnation(k, s.inc) {
		k, v = c.Seek(layout.BlockKey(s.inc, from))
	}
	for ; k != nil && layout.OfIncarnation(k, s.inc); k, v = c.Next() {
		_, first := layout.SplitBlockKey(k)
		if first > to {
			break
		}
		rs, err := s.tx.LoadBlock(k, v)
		if err != nil {
			return 0, err
		}
		last = max(last, rs[len(rs)-1].Seq)
		left, changed := s.survivors(rs)
		if changed && len(left) == 0 {
			changes = append(changes, change{key: slices.Clone(k)})
		} else if changed {
			// Under its old key: seqs are stored relative to it. What it grew by
			// gets blocks of its own.
			for first, rs := range blocksOf(first, left) {
				changes = append(changes, change{layout.BlockKey(s.inc, first), layout.EncodeBlock(nil, first, rs)})
			}
		}
	}
	if k != nil {
		if err := layout.WholePair(layout.BucketBlocks, k, v); err != nil {
			return 0, err
		}
	}
	for _, ch := range changes {
		if err := s.put(ch.key, ch.value); err != nil {
			return 0, err
		}
	}
	return last, nil
}

func (s *tailWriter) survivors(rs []layout.Record) (left []layout.Record, changed bool) {
	for _, r := range rs {
		k, keep := s.kept(r)
		if keep {
			left = append(left, k)
		}
		changed = changed || !keep || !k.Same(&r)
	}
	return left, changed
}

// add stores new records behind what there is.
func (s *tailWriter) add(rs []layout.Record) error {
	first := rs[0].Seq
	if !s.tail.complete {
		_, k, v, err := s.tx.LastBlock(s.blockKey(first))
		if err != nil {
			return err
		}
		if k != nil && layout.OfIncarnation(k, s.inc) && layout.BlockSize(k, v) < mergeBytes {
			_, first = layout.SplitBlockKey(k)
			old, err := s.tx.AppendBlock(s.merged[:0], k, v)
			if err != nil {
				return err
			}
			s.merged = append(old, rs...)
			rs = s.merged
		}
	}
	for first, rs := range blocksOf(first, rs) {
		s.encoded = layout.EncodeBlock(s.encoded, first, rs)
		if err := s.put(s.blockKey(first), s.encoded); err != nil {
			return err
		}
	}
	return nil
}

// blocksOf divides records into blocks, of which the first one's key is first.
func blocksOf(first uint64, rs []layout.Record) iter.Seq2[uint64, []layout.Record] {
	return func(yield func(uint64, []layout.Record) bool) {
		for len(rs) > 0 {
			n, size := 0, 0
			for n < len(rs) && (n == 0 || size+len(rs[n].Data) <= layout.BlockBytes) {
				if size += len(rs[n].ID) + len(rs[n].Data) + 8; rs[n].Notes != nil {
					size += layout.NotesCost
				}
				n++
			}
			if !yield(first, rs[:n]) {
				return
			}
			if rs = rs[n:]; len(rs) > 0 {
				first = rs[0].Seq
			}
		}
	}
}

// blockKey returns a key that is valid until it is called again.
func (s *tailWriter) blockKey(seq uint64) []byte {
	s.key = layout.AppendBlockKey(s.key[:0], s.inc, seq)
	return s.key
}

func (s *tailWriter) put(key, value []byte) error {
	s.Blocks++
	if value == nil {
		return s.tx.RemoveBlock(key)
	}
	return s.tx.PutBlock(key, value)
}

package memtable

import (
	"math"

	"github.com/turnlog/turnlog/fsm/internal/gaps"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/store"
)

// layer is what a memtable knows of a session, as found at one moment.
type layer struct {
	records  []layout.Record
	removed  [2]layout.Spans
	edits    *edits // nil: none
	complete bool
}

// View is one session's messages at one moment: memtables over the store. It stays valid after the machine's lock was
// released.
type View struct {
	inc    uint64
	low    [2]uint64
	high   [2]uint64
	layers [3]layer // warm, frozen, active
	edited bool     // a layer has edits
	// Tx is open while store is needed; nil if everything is in the layers.
	Tx *store.Reading
	// scratch is reused from block to block.
	scratch []layout.Record
	blocks  int // read so far

	// Of walks of Apply. What is charged for them is passed: it must be the same on every
	// node, and so neither depend on gaps nor on what memtables know of removals.
	counts  bool       // passed counts live messages of either side, whichever the walk is for
	Most    uint64     // if counts: walks end when they have passed more
	Passed  uint64     // live messages
	Skipped uint64     // messages; differs between nodes
	End     uint64     // the seq up to which the last walk came that passed more
	gaps    *gaps.Set  // by seqKey; nil: none are known
	learned **gaps.Set // where found ones are remembered; nil: they are not
}

// block returns the records of a block of the store, valid until it is called again.
func (v *View) block(key, value []byte) ([]layout.Record, error) {
	if v.blocks++; v.blocks == 1 {
		v.scratch = v.Tx.Scratch()
	}
	rs, err := v.Tx.Load(v.scratch[:0], key, value, v.blocks <= store.KeepBlocks)
	if err == nil {
		v.scratch = rs
	}
	return rs, err
}

func (v *View) Complete() bool {
	return v.layers[0].complete || v.layers[1].complete || v.layers[2].complete
}

// Live reports whether the message has not been removed.
func (v *View) Live(r *layout.Record) bool {
	if r.Dead || r.Seq < v.low[r.Side] {
		return false
	}
	for i := range v.layers {
		if v.layers[i].removed[r.Side].Has(r.Seq) {
			return false
		}
	}
	return true
}

// ceiling is the lowest seq that the layers hold; the store is asked only for
// what is below, since it has taken up the warm layer and perhaps the frozen one.
func (v *View) ceiling() uint64 {
	for i := range v.layers {
		if rs := v.layers[i].records; len(rs) > 0 {
			return rs[0].Seq
		}
	}
	return ^uint64(0)
}

// descend calls fn with each record, dead ones included, with seq ≤ from, the
// highest first, until fn returns false. fn must not keep the pointer.
func (v *View) descend(from uint64, fn func(*layout.Record) bool) error {
	for i := len(v.layers) - 1; i >= 0; i-- {
		rs := v.layers[i].records
		end := len(rs)
		if end > 0 && rs[end-1].Seq > from {
			end = layout.IndexOf(rs, from+1)
		}
		for j := end - 1; j >= 0; j-- {
			if !fn(v.current(i, &rs[j])) {
				return nil
			}
		}
	}
	if v.Complete() || v.Tx == nil {
		return nil
	}
	ceiling := v.ceiling()
	if ceiling == 0 {
		return nil
	}
	from = min(from, ceiling-1)
	c := v.Tx.CursorOf(layout.BucketBlocks)
	p, _, err := c.Around(layout.BlockKey(v.inc, from))
	if err != nil {
		return err
	}
	for k, val := p.Key, p.Value; k != nil; k, val = c.Prev() {
		if !layout.OfIncarnation(k, v.inc) {
			return c.Whole(store.Pair{Key: k, Value: val})
		}
		rs, err := v.block(k, val)
		if err != nil {
			return err
		}
		for j := layout.IndexOf(rs, from+1) - 1; j >= 0; j-- {
			if !fn(v.current(0, &rs[j])) {
				return nil
			}
		}
	}
	return nil
}

// Ascend is descend the other way: seq ≥ from, the lowest first.
func (v *View) Ascend(from uint64, fn func(*layout.Record) bool) error {
	more := true
	if !v.Complete() && v.Tx != nil {
		var err error
		if more, err = v.ascendStore(from, fn); err != nil {
			return err
		}
	}
	for i := range v.layers {
		rs := v.layers[i].records
		for j := layout.IndexOf(rs, from); more && j < len(rs); j++ {
			more = fn(v.current(i, &rs[j]))
		}
	}
	return nil
}

func (v *View) ascendStore(from uint64, fn func(*layout.Record) bool) (more bool, err error) {
	ceiling := v.ceiling()
	c := v.Tx.CursorOf(layout.BucketBlocks)
	p, above, err := c.Around(layout.BlockKey(v.inc, from))
	if err != nil {
		return false, err
	}
	if p.Key == nil || !layout.OfIncarnation(p.Key, v.inc) {
		if p.Key != nil {
			c.Next()
		}
		p = above
	}
	for k, val := p.Key, p.Value; k != nil; k, val = c.Next() {
		if !layout.OfIncarnation(k, v.inc) || layout.SeqOfBlock(k) >= ceiling {
			return true, c.Whole(store.Pair{Key: k, Value: val})
		}
		rs, err := v.block(k, val)
		if err != nil {
			return false, err
		}
		for j := layout.IndexOf(rs, from); j < len(rs) && rs[j].Seq < ceiling; j++ {
			if !fn(v.current(0, &rs[j])) {
				return false, nil
			}
		}
	}
	return true, nil
}

// Find returns the record with that seq, dead or alive.
func (v *View) Find(seq uint64) (r layout.Record, ok bool, err error) {
	err = v.Ascend(seq, func(got *layout.Record) bool {
		if got.Seq == seq {
			r, ok = *got, true
		}
		return false
	})
	return r, ok, err
}

// LearnFor has walks of v, which are those of Apply, count what they pass, and remember the gaps
// that they find in the head.
func (v *View) LearnFor(h *Head) {
	v.gaps, v.learned, v.counts, v.Most = h.gaps, &h.gaps, true, math.MaxUint64
}

// StoredView returns the messages of a head that are in the store alone.
func StoredView(h *Head, tx *store.Reading) View {
	return View{inc: h.Inc, low: h.Floors(), high: h.High, Tx: tx}
}

// DeletedView returns the messages of a deleted session in the store, all of them dead.
func DeletedView(g *layout.Tombstone, tx *store.Reading) View {
	return View{inc: g.Inc, low: [2]uint64{g.Last + 1, g.Last + 1}, Tx: tx}
}

// RemovedRanges returns how many ranges of removed messages the active memtable has.
func (v *View) RemovedRanges() int {
	removed := &v.layers[len(v.layers)-1].removed
	return len(removed[0]) + len(removed[1])
}

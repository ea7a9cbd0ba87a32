package fsm

import (
	"github.com/turnlog/turnlog/fsm/internal/gaps"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/turn"
)

// layer is what a memtable knows of a session, as found at one moment.
type layer struct {
	records  []layout.Record
	removed  [2]layout.Spans
	edits    *edits // nil: none
	complete bool
}

// view is one session's messages at one moment: memtables over the store. It stays valid after the machine's lock was
// released.
type view struct {
	inc    uint64
	low    [2]uint64
	high   [2]uint64
	layers [3]layer // warm, frozen, active
	edited bool     // a layer has edits
	// tx is open while store is needed; nil if everything is in the layers.
	tx *store.Reading
	// scratch is reused from block to block.
	scratch []layout.Record
	blocks  int // read so far

	// Of walks of Apply. What is charged for them is passed: it must be the same on every
	// node, and so neither depend on gaps nor on what memtables know of removals.
	counts  bool       // passed counts live messages of either side, whichever the walk is for
	most    uint64     // if counts: walks end when they have passed more
	passed  uint64     // live messages
	removed uint64     // messages; differs between nodes
	end     uint64     // the seq up to which the last walk came that passed more
	gaps    *gaps.Set  // by seqKey; nil: none are known
	learned **gaps.Set // where found ones are remembered; nil: they are not
}

// block returns the records of a block of the store, valid until it is called again.
func (v *view) block(key, value []byte) ([]layout.Record, error) {
	if v.blocks++; v.blocks == 1 {
		v.scratch = v.tx.Scratch()
	}
	rs, err := v.tx.Load(v.scratch[:0], key, value, v.blocks <= store.KeepBlocks)
	if err == nil {
		v.scratch = rs
	}
	return rs, err
}

func (v *view) complete() bool {
	return v.layers[0].complete || v.layers[1].complete || v.layers[2].complete
}

// live reports whether the message has not been removed.
func (v *view) live(r *layout.Record) bool {
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
func (v *view) ceiling() uint64 {
	for i := range v.layers {
		if rs := v.layers[i].records; len(rs) > 0 {
			return rs[0].Seq
		}
	}
	return ^uint64(0)
}

// descend calls fn with each record, dead ones included, with seq ≤ from, the
// highest first, until fn returns false. fn must not keep the pointer.
func (v *view) descend(from uint64, fn func(*layout.Record) bool) error {
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
	if v.complete() || v.tx == nil {
		return nil
	}
	ceiling := v.ceiling()
	if ceiling == 0 {
		return nil
	}
	from = min(from, ceiling-1)
	c := v.tx.CursorOf(layout.BucketBlocks)
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

// ascend is descend the other way: seq ≥ from, the lowest first.
func (v *view) ascend(from uint64, fn func(*layout.Record) bool) error {
	more := true
	if !v.complete() && v.tx != nil {
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

func (v *view) ascendStore(from uint64, fn func(*layout.Record) bool) (more bool, err error) {
	ceiling := v.ceiling()
	c := v.tx.CursorOf(layout.BucketBlocks)
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

// find returns the record with that seq, dead or alive.
func (v *view) find(seq uint64) (r layout.Record, ok bool, err error) {
	err = v.ascend(seq, func(got *layout.Record) bool {
		if got.Seq == seq {
			r, ok = *got, true
		}
		return false
	})
	return r, ok, err
}

// newest calls fn with each live message with seq ≤ from, of one side or of
// anySide, the highest first, until fn returns false.
func (v *view) newest(side turn.Side, from uint64, fn func(*layout.Record) bool) error {
	floor := v.floor(side)
	run := seqRun{learned: v.learned}
	defer run.end()
	for next := v.below(v.dead(side), min(from, v.top(side))); next >= max(floor, 1); {
		from, next = next, 0
		if err := v.descend(from, func(r *layout.Record) bool {
			if r.Seq < floor {
				return false
			}
			if v.live(r) {
				run.end()
				if v.wanted(side, r) || v.counts {
					return v.show(side, r, fn)
				}
			}
			v.removed++
			to := v.below(v.dead(side), r.Seq)
			if v.counts {
				to = min(to, v.gapAt(&run, r.Seq).From-1)
				run.add(layout.Span{From: to + 1, To: r.Seq})
			}
			if r.Seq-to < longRun {
				return true
			}
			next = to
			return false
		}); err != nil {
			return err
		}
	}
	return nil
}

// longRun is from how many removed messages on a walk begins again behind them, instead
// of passing them one by one.
const longRun = 16

// below returns the highest seq ≤ seq that is not known to be dead without a look at the
// message, 0 if there is none.
func (v *view) below(side turn.Side, seq uint64) uint64 {
	if side == anySide {
		return max(v.below(turn.Tail, seq), v.below(turn.Head, seq))
	}
	seq = min(seq, v.high[side])
	for i := 0; i < len(v.layers); i++ {
		if run, dead := v.layers[i].removed[side].Find(seq); dead {
			seq, i = run.From-1, -1 // another layer may go on from there
		}
	}
	if seq < v.low[side] {
		return 0
	}
	return seq
}

// above is below the other way: the lowest seq ≥ seq.
func (v *view) above(side turn.Side, seq uint64) uint64 {
	if side == anySide {
		return min(v.above(turn.Tail, seq), v.above(turn.Head, seq))
	}
	seq = max(seq, v.low[side])
	for i := 0; i < len(v.layers); i++ {
		if run, dead := v.layers[i].removed[side].Find(seq); dead {
			seq, i = run.To+1, -1
		}
	}
	return seq
}

// oldest is newest the other way: seq ≥ from, the lowest first.
func (v *view) oldest(side turn.Side, from uint64, fn func(*layout.Record) bool) error {
	top := v.top(side)
	run := seqRun{learned: v.learned}
	defer run.end()
	for next := v.above(v.dead(side), max(from, v.floor(side), 1)); next != 0 && next <= top; {
		from, next = next, 0
		if err := v.ascend(from, func(r *layout.Record) bool {
			if r.Seq > top {
				return false
			}
			if v.live(r) {
				run.end()
				if v.wanted(side, r) || v.counts {
					return v.show(side, r, fn)
				}
			}
			v.removed++
			to := v.above(v.dead(side), r.Seq)
			if v.counts {
				to = max(to, v.gapAt(&run, r.Seq).To+1)
				run.add(layout.Span{From: r.Seq, To: to - 1})
			}
			if to-r.Seq < longRun {
				return true
			}
			next = to
			return false
		}); err != nil {
			return err
		}
	}
	return nil
}

// show passes a live message, and shows it to fn if it is of a side.
func (v *view) show(side turn.Side, r *layout.Record, fn func(*layout.Record) bool) bool {
	if v.passed++; v.over() {
		v.end = r.Seq
		return false
	}
	return !v.wanted(side, r) || fn(r)
}

// over reports whether walks have passed more messages than they may.
func (v *view) over() bool { return v.counts && v.passed > v.most }

// dead returns the side of which all messages must be dead that a walk for a side jumps over.
func (v *view) dead(side turn.Side) turn.Side {
	if v.counts {
		return anySide
	}
	return side
}

// anySide stands for both sides.
const anySide = turn.Newest

func (v *view) wanted(side turn.Side, r *layout.Record) bool {
	return (side == anySide || side == r.Side) && v.live(r)
}

// floor is the lowest seq at which a live message of the side can be.
func (v *view) floor(side turn.Side) uint64 {
	if side == anySide {
		return min(v.low[0], v.low[1])
	}
	return v.low[side]
}

// top is the highest seq at which a live message of the side can stand.
func (v *view) top(side turn.Side) uint64 {
	if side == anySide {
		return max(v.high[0], v.high[1])
	}
	return v.high[side]
}

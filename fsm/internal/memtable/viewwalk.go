package memtable

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// Newest calls fn with each live message with seq ≤ from, of one side or of
// AnySide, the highest first, until fn returns false.
func (v *View) Newest(side turn.Side, from uint64, fn func(*layout.Record) bool) error {
	floor := v.Floor(side)
	run := seqRun{learned: v.learned}
	defer run.end()
	for next := v.Below(v.dead(side), min(from, v.top(side))); next >= max(floor, 1); {
		from, next = next, 0
		if err := v.descend(from, func(r *layout.Record) bool {
			if r.Seq < floor {
				return false
			}
			if v.Live(r) {
				run.end()
				if v.wanted(side, r) || v.counts {
					return v.show(side, r, fn)
				}
			}
			v.Skipped++
			to := v.Below(v.dead(side), r.Seq)
			if v.counts {
				to = min(to, v.gapAt(&run, r.Seq).From-1)
				run.add(layout.Span{From: to + 1, To: r.Seq})
			}
			if r.Seq-to < LongRun {
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

// LongRun is from how many removed messages on a walk begins again behind them, instead
// of passing them one by one.
const LongRun = 16

// Below returns the highest seq ≤ seq that is not known to be dead without a look at the
// message, 0 if there is none.
func (v *View) Below(side turn.Side, seq uint64) uint64 {
	if side == AnySide {
		return max(v.Below(turn.Tail, seq), v.Below(turn.Head, seq))
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
func (v *View) above(side turn.Side, seq uint64) uint64 {
	if side == AnySide {
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

// Oldest is newest the other way: seq ≥ from, the lowest first.
func (v *View) Oldest(side turn.Side, from uint64, fn func(*layout.Record) bool) error {
	top := v.top(side)
	run := seqRun{learned: v.learned}
	defer run.end()
	for next := v.above(v.dead(side), max(from, v.Floor(side), 1)); next != 0 && next <= top; {
		from, next = next, 0
		if err := v.Ascend(from, func(r *layout.Record) bool {
			if r.Seq > top {
				return false
			}
			if v.Live(r) {
				run.end()
				if v.wanted(side, r) || v.counts {
					return v.show(side, r, fn)
				}
			}
			v.Skipped++
			to := v.above(v.dead(side), r.Seq)
			if v.counts {
				to = max(to, v.gapAt(&run, r.Seq).To+1)
				run.add(layout.Span{From: r.Seq, To: to - 1})
			}
			if to-r.Seq < LongRun {
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
func (v *View) show(side turn.Side, r *layout.Record, fn func(*layout.Record) bool) bool {
	if v.Passed++; v.Over() {
		v.End = r.Seq
		return false
	}
	return !v.wanted(side, r) || fn(r)
}

// Over reports whether walks have passed more messages than they may.
func (v *View) Over() bool { return v.counts && v.Passed > v.Most }

// dead returns the side of which all messages must be dead that a walk for a side jumps over.
func (v *View) dead(side turn.Side) turn.Side {
	if v.counts {
		return AnySide
	}
	return side
}

// AnySide stands for both sides.
const AnySide = turn.Newest

func (v *View) wanted(side turn.Side, r *layout.Record) bool {
	return (side == AnySide || side == r.Side) && v.Live(r)
}

// Floor is the lowest seq at which a live message of the side can be.
func (v *View) Floor(side turn.Side) uint64 {
	if side == AnySide {
		return min(v.low[0], v.low[1])
	}
	return v.low[side]
}

// top is the highest seq at which a live message of the side can be.
func (v *View) top(side turn.Side) uint64 {
	if side == AnySide {
		return max(v.high[0], v.high[1])
	}
	return v.high[side]
}

// List calls fn with the elements of the list, which has so many, from an end of it on, until
// fn returns false.
func (v *View) List(from turn.Side, total uint64, fn func(*layout.Record) bool) error {
	more := true
	counted := func(rec *layout.Record) bool {
		total--
		more = fn(rec)
		return more
	}
	// The side of that end from its highest seq down, then the other's way up.
	if err := v.Newest(from, layout.MaxSeq, counted); !more || err != nil {
		return err
	}
	if err := v.Oldest(turn.Tail+turn.Head-from, 0, counted); err != nil {
		return err
	}
	if more && total != 0 && !v.Over() {
		return layout.HeadCountsMore(v.inc)
	}
	return nil
}

// MovedTo returns the live message that the removed one with that seq and id was moved to.
func (v *View) MovedTo(mv layout.Moves, seq uint64, id string) (rec layout.Record, ok bool, err error) {
	if len(mv.Runs) == 0 || mv.Runs[len(mv.Runs)-1].To < seq {
		return rec, false, nil
	}
	err = v.Newest(AnySide, layout.MaxSeq, func(r *layout.Record) bool {
		if r.Seq <= seq {
			return false
		}
		if r.ID == id && mv.Runs.Has(r.Seq) {
			rec, ok = *r, true
		}
		return !ok
	})
	return rec, ok, err
}

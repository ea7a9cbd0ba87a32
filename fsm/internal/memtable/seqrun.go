package memtable

import (
	"encoding/binary"

	"github.com/turnlog/turnlog/fsm/internal/gaps"
	"github.com/turnlog/turnlog/fsm/internal/layout"
)

// seqRun follows a walk through messages that are dead, to find gaps in which none of either
// side is alive. As seqs are never given twice, nothing comes to life there again.
type seqRun struct {
	learned **gaps.Set // nil: gaps are not remembered
	n       int        // seqs in a row, or jumps
	layout.Span
}

// add notes that the walk passes a part of the run, or jumps over it.
func (r *seqRun) add(x layout.Span) {
	if r.n++; r.n == 1 {
		r.Span = x
		return
	}
	r.From, r.To = min(r.From, x.From), max(r.To, x.To)
}

// end ends a run.
func (r *seqRun) end() {
	if r.n >= LongRun && r.learned != nil {
		run := gaps.Run{Learned: r.learned, N: r.n, Gap: gaps.Gap{From: seqKey(r.From), To: seqKey(r.To + 1)}}
		run.End()
	}
	r.n = 0
}

// seqKey orders by seq.
func seqKey(seq uint64) string {
	return string(binary.BigEndian.AppendUint64(make([]byte, 0, 8), seq))
}

func seqOf(key string) uint64 { return binary.BigEndian.Uint64([]byte(key)) }

// gapAt returns a range of dead messages around the one with that seq, which is the next of
// a run. It does not look for one each time.
func (v *View) gapAt(run *seqRun, seq uint64) layout.Span {
	if v.gaps != nil && run.n%LongRun == 0 {
		if x, ok := v.gaps.At(seqKey(seq)); ok {
			return layout.Span{From: seqOf(x.From), To: seqOf(x.To) - 1}
		}
	}
	return layout.Span{From: seq, To: seq}
}

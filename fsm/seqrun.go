package fsm

import (
	"encoding/binary"
)

// seqRun follows a walk through messages that are dead, to find gaps in which none of either
// side is alive. As seqs are never given twice, nothing comes to life there again.
type seqRun struct {
	learned **gaps // nil: gaps are not remembered
	n       int    // seqs in a row, or jumps
	span
}

// add notes that the walk passes a part of the run, or jumps over it.
func (r *seqRun) add(x span) {
	if r.n++; r.n == 1 {
		r.span = x
		return
	}
	r.from, r.to = min(r.from, x.from), max(r.to, x.to)
}

// end ends a run.
func (r *seqRun) end() {
	if r.n >= longRun && r.learned != nil {
		run := deadRun{learned: r.learned, n: r.n, gap: gap{seqKey(r.from), seqKey(r.to + 1)}}
		run.end()
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
func (v *view) gapAt(run *seqRun, seq uint64) span {
	if v.gaps != nil && run.n%longRun == 0 {
		if x, ok := v.gaps.at(seqKey(seq)); ok {
			return span{seqOf(x.from), seqOf(x.to) - 1}
		}
	}
	return span{seq, seq}
}

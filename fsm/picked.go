package fsm

import (
	"slices"

	"github.com/turnlog/turnlog/turn"
)

// picked is what a walk through a list takes out of it: on each side, messages among others.
type picked struct {
	n     uint64
	live  [2]uint64
	bytes uint64
	// seqs of the messages, by side. A range may hold other seqs, of messages that are dead
	// or of the other side, so that as few ranges are held as there are gaps between them.
	seqs [2]spans
	// adjoins, by side: no message stays between the last one taken and the next.
	adjoins [2]bool
}

// take takes out a message that the walk has come to.
func (p *picked) take(r *record) {
	p.n++
	p.live[r.side]++
	p.bytes += uint64(len(r.data))
	if s := p.seqs[r.side]; p.adjoins[r.side] {
		last := &s[len(s)-1]
		last.from, last.to = min(last.from, r.seq), max(last.to, r.seq)
	} else {
		p.seqs[r.side] = append(s, span{r.seq, r.seq})
	}
	p.adjoins[r.side] = true
}

// pass leaves a message where it is that the walk has come to.
func (p *picked) pass(r *record) { p.adjoins[r.side] = false }

// dropPicked removes from an owned head what a walk took out.
func (m *Machine) dropPicked(h *head, p *picked) {
	h.bytes -= p.bytes
	for side, s := range p.seqs {
		if len(s) == 0 {
			continue
		}
		h.live[side] -= p.live[side]
		if s[0].from > s[len(s)-1].from { // the walk went down on this side
			slices.Reverse(s)
		}
		m.active.removeRuns(h.inc, turn.Side(side), s)
	}
}

package sessions

import (
	"slices"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

// picked is what a walk through a list takes out of it: on each side, messages among others.
type picked struct {
	n     uint64
	live  [2]uint64
	bytes uint64
	// inside: one of them is Inside.
	inside bool
	// seqs of the messages, by side. A range may hold other seqs, of messages that are dead
	// or of the other side, so that as few ranges are held as there are gaps between them.
	seqs [2]layout.Spans
	// adjoins, by side: no message stays between the last one taken and the next.
	adjoins [2]bool
}

// take takes out a message that the walk has come to.
func (p *picked) take(r *layout.Record) {
	p.n++
	p.live[r.Side]++
	p.bytes += uint64(len(r.Data))
	p.inside = p.inside || r.Inside
	if s := p.seqs[r.Side]; p.adjoins[r.Side] {
		last := &s[len(s)-1]
		last.From, last.To = min(last.From, r.Seq), max(last.To, r.Seq)
	} else {
		p.seqs[r.Side] = append(s, layout.Span{From: r.Seq, To: r.Seq})
	}
	p.adjoins[r.Side] = true
}

// pass leaves a message where it is that the walk has come to.
func (p *picked) pass(r *layout.Record) { p.adjoins[r.Side] = false }

// dropPicked removes from an owned head what a walk took out.
func (l lists) dropPicked(h *memtable.Head, p *picked) {
	h.Bytes -= p.bytes
	for side, s := range p.seqs {
		if len(s) == 0 {
			continue
		}
		h.Live[side] -= p.live[side]
		if s[0].From > s[len(s)-1].From { // the walk went down on this side
			slices.Reverse(s)
		}
		l.Tables.Active.RemoveRuns(h.Inc, turn.Side(side), s)
	}
	switch {
	case h.Count() == 0:
		l.setOpen(h, nil)
	case p.inside:
		l.reopen(h)
	}
}

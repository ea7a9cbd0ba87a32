package propose

import (
	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
)

// entryBatch is the content of an entry.
type entryBatch struct {
	commands []codec.Command
	bytes    int
	weight   int // see fsm.Weight
	batches  []*Batch
	local    *callBatch // of the calls' table, behind the batches; may be nil
}

// gatherLocked takes what waits, up to the bounds of an entry. Local calls and others
// share its room, and take turns where there is room for one of them only, so that
// neither starves.
func (p *Proposer) gatherLocked(t *Term) *entryBatch {
	var out entryBatch
	if p.passed {
		p.takeLocal(t, &out)
	}
	p.takeBatchesLocked(&out)
	if out.local == nil {
		p.takeLocal(t, &out)
	}
	p.passed = out.local == nil && p.calls.pending() > 0
	if out.local != nil {
		out.commands = append(out.commands, out.local.commands...)
	}
	if len(out.commands) == 0 {
		return nil
	}
	return &out
}

// takeBatchesLocked takes batches, in their order. The first one of an entry has room, whatever
// its size.
func (p *Proposer) takeBatchesLocked(out *entryBatch) {
	room := p.bounds.EntryBytes
	if out.local == nil && p.calls.pending() > 0 {
		room /= 2
	}
	own := 0
	if out.local != nil {
		own = len(out.local.calls)
	}
	for len(p.batches) > 0 {
		b := p.batches[0]
		if n := own + len(out.commands); n > 0 &&
			(out.bytes+b.Bytes > room || n+len(b.Commands) > p.bounds.EntryCommands ||
				b.Weight > 0 && out.weight+b.Weight > fsm.EntryWeight) {
			return
		}
		p.batches[0] = nil
		p.batches = p.batches[1:]
		p.bytes -= b.Bytes
		out.bytes += b.Bytes
		out.weight += b.Weight
		out.batches = append(out.batches, b)
		out.commands = append(out.commands, b.Commands...)
	}
}

// takeLocal takes calls of this node, if there is room for any; on a full disk, those only
// that free space.
func (p *Proposer) takeLocal(t *Term, out *entryBatch) {
	n, bytes := p.bounds.EntryCommands-len(out.commands), p.bounds.EntryBytes-out.bytes
	if n <= 0 || out.bytes > 0 && bytes <= 0 {
		return
	}
	for {
		b := p.calls.take(t.gen, n, bytes, fsm.EntryWeight-out.weight)
		if b == nil {
			return
		}
		why := p.space.RefusalOf(p.flying + p.bytes + out.bytes + b.bytes)
		if rejected := split(b, why, p.space); rejected != nil {
			p.calls.refused(rejected, why, true)
		}
		if len(b.calls) > 0 {
			out.local = b
			out.bytes += b.bytes
			out.weight += b.weight
			return
		}
	}
}

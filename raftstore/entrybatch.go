package raftstore

import (
	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
)

// entryBatch is the content of an entry.
type entryBatch struct {
	commands []codec.Command
	bytes    int
	weight   int // see fsm.Weight
	units    []*unit
	local    *batch // of the calls' table, behind the units; may be nil
}

// gatherLocked takes what waits, up to the bounds of an entry. Local calls and others
// share its room, and take turns where there is room for one of them only, so that
// neither starves.
func (p *proposer) gatherLocked(lt *leaderTerm) *entryBatch {
	var out entryBatch
	if p.passed {
		p.takeLocal(lt, &out)
	}
	p.takeUnitsLocked(&out)
	if out.local == nil {
		p.takeLocal(lt, &out)
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

// takeUnitsLocked takes units, in their order. The first one of an entry has room, whatever
// its size.
func (p *proposer) takeUnitsLocked(out *entryBatch) {
	room := p.bounds.EntryBytes
	if out.local == nil && p.calls.pending() > 0 {
		room /= 2
	}
	own := 0
	if out.local != nil {
		own = len(out.local.calls)
	}
	for len(p.units) > 0 {
		u := p.units[0]
		if n := own + len(out.commands); n > 0 && (out.bytes+u.bytes > room || n+len(u.commands) > p.bounds.EntryCommands ||
			u.weight > 0 && out.weight+u.weight > fsm.EntryWeight) {
			return
		}
		p.units[0] = nil
		p.units = p.units[1:]
		p.bytes -= u.bytes
		out.bytes += u.bytes
		out.weight += u.weight
		out.units = append(out.units, u)
		out.commands = append(out.commands, u.commands...)
	}
}

// takeLocal takes calls of this node, if there is room for any; on a full disk, those only
// that free space.
func (p *proposer) takeLocal(lt *leaderTerm, out *entryBatch) {
	n, bytes := p.bounds.EntryCommands-len(out.commands), p.bounds.EntryBytes-out.bytes
	if n <= 0 || out.bytes > 0 && bytes <= 0 {
		return
	}
	for {
		b := p.calls.take(lt.gen, n, bytes, fsm.EntryWeight-out.weight)
		if b == nil {
			return
		}
		if rejected, why := p.space.split(b); why != nil {
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

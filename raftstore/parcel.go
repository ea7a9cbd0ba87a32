package raftstore

import "github.com/turnlog/turnlog/codec"

// parcel is the content of an entry.
type parcel struct {
	commands []codec.Command
	bytes    int
	units    []*unit
	own      *batch // of the calls' table, behind the units; may be nil
}

// gatherLocked takes what waits, up to the bounds of an entry. Own calls and
// others share its room, so that neither starves.
func (p *proposer) gatherLocked(r *reign) *parcel {
	var out parcel
	room := p.bounds.EntryBytes
	if p.calls.pending() > 0 {
		room /= 2
	}
	for len(p.units) > 0 {
		u := p.units[0]
		if len(out.units) > 0 && (out.bytes+u.bytes > room || len(out.commands)+len(u.commands) > p.bounds.EntryCommands) {
			break
		}
		p.units[0] = nil
		p.units = p.units[1:]
		p.bytes -= u.bytes
		out.bytes += u.bytes
		out.units = append(out.units, u)
		out.commands = append(out.commands, u.commands...)
	}
	if n := p.bounds.EntryCommands - len(out.commands); n > 0 && (out.bytes == 0 || out.bytes < p.bounds.EntryBytes) {
		out.own = p.takeOwn(r, n, p.bounds.EntryBytes-out.bytes)
	}
	if out.own != nil {
		out.commands = append(out.commands, out.own.commands...)
		out.bytes += out.own.bytes
	}
	if len(out.commands) == 0 {
		return nil
	}
	return &out
}

// takeOwn takes calls of this node; on a full disk, those only that free space.
func (p *proposer) takeOwn(r *reign, n, bytes int) *batch {
	for {
		b := p.calls.take(r.gen, n, bytes)
		if b == nil {
			return nil
		}
		if rejected, why := p.space.split(b); why != nil {
			p.calls.refused(rejected, why, true)
		}
		if len(b.calls) > 0 {
			return b
		}
	}
}

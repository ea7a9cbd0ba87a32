package wal

import "fmt"

// Most bytes of a log belong to records that are dropped: their segment goes only when nothing in it is live. Damage
// among them must not stop a node that has every live record.
//
// A gap is a place before the manifest's mark where no frame verifies. The replay goes on with the first whole frame
// behind it: where the damaged frame's own head says that it ends, or else at the next head that is valid at its own
// place. It is unknown what was in the gap: records, and truncations of either end, after which the records before the
// gap may have been replaced by others. So the frame behind a gap counts as the first of the log: the table forgets all
// that came before.
//
// What each frame says is enough to tell if that matters. Records below its first are void, and so are those from its
// index on: what is live from there on was written by it or after it. So everything live was written behind the gap if
// and only if the log begins at or above the lowest index of the frames behind the gap. Otherwise the gap is damage
// like any other.
//
// A gap must end before the mark, and from its end on every frame must verify, up to the mark with the index that the
// manifest tells and on to the end of the log. So the rules of the tail stay as they are, and a head that is none, in
// the bytes of a record or left behind at the end of a segment, would have to begin such a chain: the records of its
// frame must verify, and those of all frames after it.

// DroppedDamage is a place where the log is damaged, but only dropped records were lost. It is
// harmless; its segment file is recycled together with the records around it.
type DroppedDamage struct {
	File   string
	Offset int64 // of the first batch head or record that does not verify
	Reason string
	// UntilFile and UntilOffset are where the first whole batch after it is.
	UntilFile   string
	UntilOffset int64
}

// gap is what the replay knows about the last gap.
type gap struct {
	open  bool   // there was no whole frame since
	until uint64 // what is live from here on was written behind it; 0 if there was none
}

// enter notes that there is no valid frame at this place.
func (p *replayer) enter(s *segment, bad *badFrame) {
	if !p.gap.open {
		p.gap.open = true
		p.gaps = append(p.gaps, DroppedDamage{File: s.path, Offset: bad.offset, Reason: bad.reason})
	}
}

// readable notes a whole frame, before it is applied.
func (p *replayer) readable(s *segment, f frame) {
	if !p.gap.open {
		p.gap.until = min(p.gap.until, f.index)
		return
	}
	p.forget()
	p.gap = gap{until: f.index}
	last := &p.gaps[len(p.gaps)-1]
	last.UntilFile, last.UntilOffset = s.path, int64(f.at)
}

// leave notes the end of a segment: one that lies in a gap as a whole is still one of the log's.
func (p *replayer) leave(s *segment, end int64) {
	if !p.gap.open {
		return
	}
	if n := len(p.segments); n == 0 || p.segments[n-1] != s {
		p.segments = append(p.segments, s)
	}
	if end != unknownEnd {
		s.end = end
	}
}

// checkGaps makes sure that all that is live was written behind the last gap.
func (p *replayer) checkGaps() error {
	switch {
	case p.gap.open:
		return &liveDamage{"no whole batch follows the damage"}
	case p.first < p.gap.until:
		return &liveDamage{fmt.Sprintf("the log begins at record %d, and what is damaged may reach up to record %d",
			p.first, p.gap.until)}
	}
	return nil
}

// liveDamage is the error for a gap in which live records may have been.
type liveDamage struct{ reason string }

func (e *liveDamage) Error() string { return "wal: " + e.reason }

// visitOnce has a visitor see each frame once, however often the beginning of the log is read.
type visitOnce struct {
	visit visitor
	seen  int
	err   error
}

// pass returns the visitor of one reading, which keeps quiet about what an earlier one has shown; nil if there is none.
func (o *visitOnce) pass() visitor {
	if o.visit == nil {
		return nil
	}
	at := 0
	return func(s *segment, f frame, offsets []uint32) error {
		if at++; at <= o.seen {
			return nil
		}
		o.seen = at
		o.err = o.visit(s, f, offsets)
		return o.err
	}
}

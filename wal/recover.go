package wal

import (
	"errors"
	"fmt"
)

// Recovery reads every frame of every segment that the manifest names, in order, and so verifies the whole log.
//
// The used segments are those up to the last one whose first frame verifies. The end of each but the last is known
// exactly, from the first frame of the one after it, and everything before that end must verify. In the last one, the
// tail, frames are read until one does not verify. That place is the end of the log if it may be one, and damage
// otherwise. It is damage if
//
//   - it lies before the manifest's mark, up to which the log is known to have been synced, or
//   - a valid frame of the present epoch is found anywhere after it, in this segment or in a later one: there is
//     never more than one frame that is not synced yet, so a frame after it proves that it had been durable.
//
// What remains is a frame that was being written when the machine stopped, or nothing at all. Its bytes stay where they
// are; the epoch that Open begins makes them invalid for good.
//
// Damage that only dropped records can have suffered does not matter: see gap.go.

// recovered is what the files say.
type recovered struct {
	table
	last  frame      // the newest frame, in the table's last segment; zero if there is none
	ready []*segment // segments after the tail, prepared and unused
	torn  *TornTail
	gaps  []DroppedDamage // damage among records that are dropped
}

// visitor sees each frame, with where its records are. The slice is reused.
type visitor func(s *segment, f frame, offsets []uint32) error

// recoverTable replays the segments that m names, past visit if that is not nil. On an error it returns what was
// recovered before.
func recoverTable(m manifest, segments []*segment, visit visitor) (*recovered, error) {
	once := &visitOnce{visit: visit}
	r, err := replay(m, segments, once.pass(), false)
	var damage *CorruptError
	if !errors.As(err, &damage) || once.err != nil {
		return r, err
	}
	// Nothing behind the damage is shown before it is certain that the damage does not matter.
	around, failed := replay(m, unread(segments), nil, true)
	if failed != nil {
		return r, mattering(damage, failed)
	}
	if visit == nil {
		return around, nil
	}
	return replay(m, unread(segments), once.pass(), true)
}

// mattering returns the error for a log with damage that a second reading could not pass. A reading that failed for
// another reason says nothing about the damage.
func mattering(damage *CorruptError, failed error) error {
	why := ""
	var live *liveDamage
	var more *CorruptError
	switch {
	case errors.As(failed, &live):
		why = live.reason
	case !errors.As(failed, &more):
		return failed
	case more.File != damage.File || more.Offset != damage.Offset:
		why = fmt.Sprintf("%s at offset %d is damaged, too: %s", more.File, more.Offset, more.Reason)
	default:
		return damage
	}
	all := *damage
	all.Reason += "; " + why
	return &all
}

// replay reads the segments once. With passGaps it goes on behind what is damaged, and fails if anything live may be
// lost there.
func replay(m manifest, segments []*segment, visit visitor, passGaps bool) (*recovered, error) {
	r := &recovered{}
	ends, used, err := usedSegments(m, segments, passGaps)
	if err != nil {
		return r, err
	}
	p := replayer{manifest: m, recovered: r, visit: visit, passGaps: passGaps}
	for i := range used {
		if err := p.segment(segments[i], ends[i], i == used-1); err != nil {
			return r, err
		}
	}
	if err := p.noLater(segments[used:]); err != nil {
		return r, err
	}
	if err := p.checkGaps(); err != nil {
		return r, err
	}
	// A last segment in which not even one frame is whole is unused after all; the tail is the one before.
	r.ready = segments[len(r.segments):]
	return r, p.checkWhole(segments)
}

// unknownEnd stands for the end of the tail segment, and of one whose successor begins with a damaged frame.
const unknownEnd = -1

// usedSegments finds how many segments are in use and where the frames of each end. A first frame that is damaged is an
// error, unless it may lie in a gap.
func usedSegments(m manifest, segments []*segment, passGaps bool) (ends []int64, used int, err error) {
	heads := make([]frame, len(segments))
	bad := make([]error, len(segments))
	inGap := func(s *segment) bool { return passGaps && m.mark.covers(s.id, headerSize) }
	for i, s := range segments {
		c := newScanner(s, m)
		c.window.chunk = 0 // the head and no more
		heads[i], bad[i] = c.head(headerSize)
		var b *badFrame
		if bad[i] != nil && !errors.As(bad[i], &b) {
			return nil, 0, s.readError(bad[i], headerSize, 0)
		}
		if bad[i] == nil || inGap(s) {
			used = i + 1
		} else if m.mark.covers(s.id, headerSize) {
			return nil, 0, &CorruptError{File: s.path, Offset: headerSize, Reason: bad[i].Error() +
				"; the log was synced beyond this place"}
		}
	}
	ends = make([]int64, used)
	for i := range used {
		if bad[i] != nil && !inGap(segments[i]) {
			return nil, 0, &CorruptError{File: segments[i].path, Offset: headerSize,
				Reason: fmt.Sprintf("%v, and segment %d after it is in use", bad[i], segments[i+1].id)}
		}
		ends[i] = unknownEnd
		if i+1 < used && bad[i+1] == nil {
			ends[i] = int64(heads[i+1].back)
		}
	}
	return ends, used, nil
}

type replayer struct {
	manifest manifest
	*recovered
	visit    visitor
	markSeen bool
	passGaps bool
	gap      gap
}

// segment replays one used segment. end may be unknownEnd; last says that this is the last one.
func (p *replayer) segment(s *segment, end int64, last bool) error {
	c := newScanner(s, p.manifest)
	at := int64(headerSize)
	for at != end {
		p.passMark(s, at)
		f, err := c.frame(at)
		var bad *badFrame
		if errors.As(err, &bad) {
			next, err := p.unreadable(c, at, end, last, bad)
			if err != nil || next == atTail {
				return err
			}
			at = next
			continue
		} else if err != nil {
			return s.readError(err, at, p.next)
		}
		p.readable(s, f)
		if reason := p.check(f); reason != "" {
			return &CorruptError{File: s.path, Offset: at, Index: f.index, Reason: reason}
		}
		if end != unknownEnd && f.end() > end {
			return &CorruptError{File: s.path, Offset: at, Index: f.index,
				Reason: "the batch reaches beyond the end of the segment's records"}
		}
		p.apply(s, f, c.offsets)
		p.last = f
		if p.visit != nil {
			if err := p.visit(s, f, c.offsets); err != nil {
				return err
			}
		}
		at = f.end()
	}
	p.passMark(s, at)
	p.leave(s, end)
	return nil
}

// atTail stands for the place where the log ends.
const atTail = -2

// unreadable decides what a place without a valid frame is, and returns where the replay goes on.
func (p *replayer) unreadable(c *scanner, at, end int64, last bool, bad *badFrame) (next int64, err error) {
	switch {
	case p.passGaps && p.manifest.mark.covers(c.id, at):
		p.enter(c.segment, bad)
		return c.next(at, end)
	case last:
		return atTail, p.tail(c, at, bad)
	}
	return 0, p.damage(c.segment, bad, "")
}

// tail decides what the bad frame at the end of the last segment is: the end, a torn batch, or damage.
func (p *replayer) tail(c *scanner, at int64, bad *badFrame) error {
	if p.manifest.mark.covers(c.id, at) {
		return p.damage(c.segment, bad, "; the log was synced beyond this place")
	}
	later, found, err := c.later(at)
	if err != nil {
		return c.readError(err, at, p.next)
	} else if found {
		return p.damage(c.segment, bad, fmt.Sprintf("; there is a later batch at offset %d", later))
	}
	if f, err := c.head(at); err == nil {
		p.torn = &TornTail{File: c.path, Offset: at,
			Reason: fmt.Sprintf("records %d…%d: %s", f.index, f.index+uint64(f.count)-1, bad.reason)}
	} else if !bad.blank {
		p.torn = &TornTail{File: c.path, Offset: at, Reason: bad.reason}
	}
	return nil
}

// noLater makes sure that the unused segments are unused.
func (p *replayer) noLater(unused []*segment) error {
	for _, s := range unused {
		later, found, err := newScanner(s, p.manifest).later(headerSize)
		if err != nil {
			return s.readError(err, headerSize, 0)
		} else if found {
			bad := &badFrame{offset: headerSize, reason: "the segment's first batch is damaged"}
			return p.damage(s, bad, fmt.Sprintf("; there is a later batch at offset %d", later))
		}
	}
	return nil
}

func (p *replayer) damage(s *segment, bad *badFrame, why string) error {
	index := bad.index
	if index == 0 {
		index = p.next
	}
	return &CorruptError{File: s.path, Offset: bad.offset, Index: index, Reason: bad.reason + why}
}

// passMark notes that a frame begins or the log ends at the mark, with the records that the mark says.
func (p *replayer) passMark(s *segment, at int64) {
	if !p.gap.open && s.id == p.manifest.mark.segment && at == p.manifest.mark.offset &&
		p.next == p.manifest.mark.next {
		p.markSeen = true
	}
}

// checkWhole makes sure that the log begins where it says and reaches the mark.
func (p *replayer) checkWhole(segments []*segment) error {
	if len(segments) == 0 {
		return nil
	}
	if len(p.segments) == 0 {
		s := segments[0]
		if p.manifest.mark == (mark{segment: s.id, offset: headerSize}) {
			return nil // nothing was ever written
		}
		return p.unreached(s)
	}
	if oldest := p.segments[0]; !p.empty() && p.first < oldest.base {
		return &CorruptError{File: oldest.path, Offset: headerSize, Index: p.first,
			Reason: fmt.Sprintf("the log begins at record %d, and the oldest segment at %d", p.first, oldest.base)}
	}
	if !p.markSeen {
		return p.unreached(p.segments[len(p.segments)-1])
	}
	return nil
}

func (p *replayer) unreached(last *segment) error {
	return &CorruptError{File: last.path, Offset: last.end, Index: p.next, Reason: fmt.Sprintf(
		"the log had been synced up to segment %d, offset %d, before record %d, and does not reach it",
		p.manifest.mark.segment, p.manifest.mark.offset, p.manifest.mark.next)}
}

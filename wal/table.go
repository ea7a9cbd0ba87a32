package wal

import (
	"fmt"
	"sort"
)

// table knows where the live records are. Recovery, verification and the running log all build it in the same way:
// frame by frame. It is not safe for concurrent use.
type table struct {
	segments []*segment // used ones, in the order of their numbers; bases do not fall
	first    uint64     // first live index; equal to next when there is none
	next     uint64     // the index that the next record must have; 0: any
}

func (t *table) empty() bool { return t.first == t.next }

// check says why the frame cannot be the next one, or "". Damage that slips through it would break the rules that find
// relies on.
func (t *table) check(f frame) string {
	begins := f.first == f.index // a reset, or the first batch of a log that may begin anywhere
	switch end := f.index + uint64(f.count); {
	case f.count > 0 && f.index == 0 || end < f.index:
		return fmt.Sprintf("%d records from %d on cannot be numbered", f.count, f.index)
	case f.count > 0 && t.next != 0 && f.index != t.next:
		return fmt.Sprintf("record %d follows, where %d should", f.index, t.next)
	case f.count == 0 && t.next != 0 && f.index > t.next && !begins:
		return fmt.Sprintf("the log is cut at %d, beyond its end at %d", f.index, t.next)
	case f.first > f.index || f.first == 0 && f.index > 0:
		return fmt.Sprintf("the log begins at %d, and the batch at %d", f.first, f.index)
	case f.first < t.first && !begins:
		return fmt.Sprintf("the log begins at %d again, after %d", f.first, t.first)
	}
	return ""
}

// apply adds a frame of segment s, which is the last one of the table or follows it. offsets are those of the frame's
// records.
func (t *table) apply(s *segment, f frame, offsets []uint32) {
	t.cut(f.index)
	if n := len(t.segments); n == 0 || t.segments[n-1] != s {
		t.segments = append(t.segments, s)
	}
	if s.base+uint64(len(s.offsets)) != f.index { // a new segment, or the log begins again
		s.base, s.offsets = f.index, nil
	}
	s.offsets = append(s.offsets, offsets...)
	s.end = f.end()
	t.next = f.index + uint64(f.count)
	t.first = f.first
}

// cut forgets the records from index on.
func (t *table) cut(index uint64) {
	for i := len(t.segments) - 1; i >= 0; i-- {
		s := t.segments[i]
		if s.base+uint64(len(s.offsets)) <= index && s.base <= index {
			return
		}
		if s.base >= index {
			s.base, s.offsets = index, nil
			continue
		}
		s.offsets = s.offsets[:index-s.base]
	}
}

// forget leaves the segments in the table without any record, as a reset does, ready for a frame that may begin
// anywhere.
func (t *table) forget() {
	for _, s := range t.segments {
		s.base, s.offsets = 0, nil
	}
	t.first, t.next = 0, 0
}

// find returns where the live record index is. The extent may be longer than the record.
func (t *table) find(index uint64) (s *segment, start, end int64) {
	i := sort.Search(len(t.segments), func(i int) bool { return t.segments[i].base > index }) - 1
	s = t.segments[i]
	k := int(index - s.base)
	start, end = int64(s.offsets[k]), s.end
	if k+1 < len(s.offsets) {
		end = int64(s.offsets[k+1])
	}
	return s, start, end
}

// dead returns how many leading segments hold nothing live. The last segment is never dead: it is where the next frame
// goes.
func (t *table) dead() int {
	n := len(t.segments) - 1
	for i := range n {
		s := t.segments[i]
		if !t.empty() && s.base+uint64(len(s.offsets)) > t.first {
			return i
		}
	}
	return max(n, 0)
}

// indexForTail is IndexForTail, for a table that is not empty.
func (t *table) indexForTail(bytes int64) uint64 {
	for i := len(t.segments) - 1; i >= 0; i-- {
		s := t.segments[i]
		if len(s.offsets) == 0 {
			continue
		}
		if whole := s.end - int64(s.offsets[0]); whole <= bytes {
			bytes -= whole
			continue
		}
		k := sort.Search(len(s.offsets), func(k int) bool { return s.end-int64(s.offsets[k]) <= bytes })
		return max(t.first, s.base+uint64(k))
	}
	return t.first
}

// tailBytes is TailBytes.
func (t *table) tailBytes(index uint64) (bytes int64) {
	for i := len(t.segments) - 1; i >= 0; i-- {
		s := t.segments[i]
		if end := s.base + uint64(len(s.offsets)); len(s.offsets) == 0 || end <= index {
			continue
		}
		bytes += s.end - int64(s.offsets[max(index, s.base)-s.base])
		if index >= s.base {
			break
		}
	}
	return bytes
}

package wal

import (
	"fmt"
	"math"
)

// Append adds records, all or none. They must continue the log, and are durable on return; one write and one sync serve
// them all. The log keeps the slices in its cache: the caller must not change the bytes afterwards.
//
// Errors: ErrOutOfOrder, ErrTooLarge, ErrNoSpace, ErrClosed: nothing was written. *FailedError: unknown until the log
// is opened again, and the log is stopped.
func (l *Log) Append(records []Record) error {
	l.writer.Lock()
	defer l.writer.Unlock()
	if err := l.stopped(); err != nil || len(records) == 0 {
		return err
	}
	index, first := records[0].Index, l.table.first // written only under the writer lock, which we hold
	for i, r := range records {
		if r.Index != index+uint64(i) || r.Index == 0 || r.Index == math.MaxUint64 {
			return fmt.Errorf("%w: record %d is at position %d of a batch that begins with %d", ErrOutOfOrder,
				r.Index, i, index)
		}
	}
	switch next := l.table.next; {
	case next == 0:
		first = index
	case next != index:
		return fmt.Errorf("%w: the batch begins with record %d, and the next one must be %d", ErrOutOfOrder,
			index, next)
	}
	if err := l.commitLocked(index, first, records); err != nil {
		return err
	}
	l.counters.appends.Add(1)
	l.counters.records.Add(uint64(len(records)))
	return nil
}

// commitLocked makes a frame durable and then visible. The caller holds the writer lock and has seen that the log is
// not stopped.
func (l *Log) commitLocked(index, first uint64, records []Record) error {
	size := int64(frameHeadSize)
	for _, r := range records {
		size += recordSize(len(r.Meta), len(r.Data))
		if size > maxBatchBytes {
			return fmt.Errorf("%w: it takes more than %d bytes", ErrTooLarge, maxBatchBytes)
		}
	}
	s, back, err := l.placeLocked(size, len(records) == 0)
	if err != nil {
		return err
	}
	f := frame{
		epoch:  l.epoch,
		length: uint32(size - frameHeadSize),
		count:  uint32(len(records)),
		index:  index,
		first:  first,
		at:     uint32(s.end),
		back:   uint32(back),
	}
	l.encodeLocked(s, f, records)
	if _, err := s.file.WriteAt(l.buf, s.end); err != nil {
		return l.fail("write", s.path, err)
	}
	if err := l.timedSync(s.file); err != nil {
		return l.fail("sync", s.path, err)
	}
	l.counters.bytes.Add(uint64(size))
	l.publishLocked(s, f, records)
	if cap(l.buf) > keepBuffer {
		l.buf = nil
	}
	return nil
}

// keepBuffer bounds the encoding buffer that is kept from one batch to the next.
const keepBuffer = 4 << 20

// encodeLocked fills buf with the frame and zeros up to the end of its last page, and offsets with the places of the
// records. Whole pages spare the kernel from reading a recycled page before a part of it is overwritten; the page in
// which the frame begins is in memory, because the frame before it was written in the same way.
func (l *Log) encodeLocked(s *segment, f frame, records []Record) {
	l.buf = append(l.buf[:0], make([]byte, frameHeadSize)...)
	f.put(l.buf, s.key)
	l.offsets = l.offsets[:0]
	for _, r := range records {
		l.offsets = append(l.offsets, f.at+uint32(len(l.buf)))
		l.buf = appendRecord(l.buf, s.key, f.epoch, r)
	}
	const page = 4096
	if over := (s.end + int64(len(l.buf))) % page; over != 0 {
		l.buf = append(l.buf, make([]byte, page-over)...)
	}
}

// publishLocked lets readers see a durable frame.
func (l *Log) publishLocked(s *segment, f frame, records []Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ready) > 0 && l.ready[0] == s {
		l.ready = l.ready[1:]
	}
	l.table.apply(s, f, l.offsets)
	l.cache.keep(l.table.first, f.index)
	for _, r := range records {
		l.cache.add(r)
	}
	if len(l.ready) == 0 {
		l.wakeKeeper()
	}
}

// placeLocked returns the segment that takes the next frame, at its end, and the frame's back link. If it must be a new
// segment, that is prepared and durable. The caller holds the writer lock.
func (l *Log) placeLocked(size int64, truncation bool) (s *segment, back int64, err error) {
	limit := int64(0)
	if !truncation {
		limit = truncationReserve
	}
	if s = l.tail(); s != nil {
		if s.end+size <= s.size-limit {
			return s, 0, nil
		}
		back = s.end
	}
	if s, err = l.takeReady(); err != nil {
		return nil, 0, err
	}
	if headerSize+size > s.size-limit {
		if err := l.growReady(s, headerSize+size+limit); err != nil {
			return nil, 0, err
		}
	}
	return s, back, nil
}

// Room returns how many bytes of frames fit into space that is already allocated, so that they cannot
// fail with ErrNoSpace: the rest of the last segment, or a prepared one. It counts frames, not payload:
// FORMAT.md says what each record takes besides its bytes.
func (l *Log) Room() int64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	room := int64(0)
	if n := len(l.table.segments); n > 0 {
		s := l.table.segments[n-1]
		room = s.size - truncationReserve - s.end
	}
	if len(l.ready) > 0 {
		room = max(room, l.ready[0].size-truncationReserve-headerSize)
	}
	return max(0, room)
}

// tail returns the segment with the newest frame, nil if there is none.
func (l *Log) tail() *segment {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if n := len(l.table.segments); n > 0 {
		return l.table.segments[n-1]
	}
	return nil
}

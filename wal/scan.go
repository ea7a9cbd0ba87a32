package wal

import (
	"errors"
	"fmt"
	"io"
)

// window reads a file forwards through one reused buffer.
type window struct {
	file  File
	size  int64
	chunk int64 // how much is read at a time, at least
	at    int64 // file offset of bytes[0]
	bytes []byte
	buf   []byte
}

// slice returns n bytes at offset, valid until the next call; io.EOF if they lie beyond the size.
func (w *window) slice(offset, n int64) ([]byte, error) {
	if offset+n > w.size {
		return nil, io.EOF
	}
	if offset < w.at || offset+n > w.at+int64(len(w.bytes)) {
		want := min(max(n, w.chunk), w.size-offset)
		if int64(cap(w.buf)) < want {
			w.buf = make([]byte, want)
		}
		w.bytes = w.buf[:want]
		w.at = offset
		if err := readFull(w.file, w.bytes, offset); err != nil {
			w.bytes = nil
			return nil, err
		}
	}
	return w.bytes[offset-w.at:][:n], nil
}

// badFrame says why there is no valid frame at an offset.
type badFrame struct {
	offset int64
	index  uint64 // of the record that does not verify; 0 if the frame's head does not
	reason string
	blank  bool // there are only zeros where the head should be
}

func (b *badFrame) Error() string { return b.reason }

// scanner reads the frames of one segment.
type scanner struct {
	*segment
	window  window
	accepts func(offset int64, epoch uint32) bool
	offsets []uint32 // of the records of the last frame, reused
}

func newScanner(s *segment, m manifest) *scanner {
	return &scanner{
		segment: s,
		window:  window{file: s.file, size: s.size, chunk: 1 << 20},
		accepts: func(offset int64, epoch uint32) bool { return m.accepts(s.id, offset, epoch) },
	}
}

// head reads the frame head at offset. The error is a *badFrame, or that of a failed read.
func (c *scanner) head(offset int64) (frame, error) {
	bad := func(reason string) (frame, error) { return frame{}, &badFrame{offset: offset, reason: reason} }
	b, err := c.window.slice(offset, frameHeadSize)
	if errors.Is(err, io.EOF) {
		return frame{}, &badFrame{offset: offset, reason: "the segment is full", blank: true}
	} else if err != nil {
		return frame{}, err
	}
	f, ok := decodeFrame(b, c.key)
	switch {
	case !ok && allZero(b):
		return frame{}, &badFrame{offset: offset, reason: "nothing was written here", blank: true}
	case !ok:
		return bad("the batch head does not match its checksum")
	case int64(f.at) != offset:
		return bad(fmt.Sprintf("the batch belongs at offset %d", f.at))
	case f.end() > c.size:
		return bad("the batch reaches beyond the segment")
	case !c.accepts(offset, f.epoch):
		return bad(fmt.Sprintf("the batch is of epoch %d, left behind by an earlier crash", f.epoch))
	}
	return f, nil
}

// frame reads and verifies the frame at offset; c.offsets then tells where its records are. Errors are as those of
// head.
func (c *scanner) frame(offset int64) (frame, error) {
	f, err := c.head(offset)
	if err != nil {
		return frame{}, err
	}
	c.offsets = c.offsets[:0]
	at := offset + frameHeadSize
	for index := f.index; index != f.index+uint64(f.count); index++ {
		size, err := c.record(f, at, index)
		if err != nil {
			return frame{}, err
		}
		c.offsets = append(c.offsets, uint32(at))
		at += size
	}
	if at != f.end() {
		return frame{}, &badFrame{offset: offset, reason: "the batch is longer than its records"}
	}
	return f, nil
}

func (c *scanner) record(f frame, at int64, index uint64) (size int64, err error) {
	bad := func(reason string) (int64, error) { return 0, &badFrame{offset: at, index: index, reason: reason} }
	if at+recordHeadSize > f.end() {
		return bad("the record reaches beyond its batch")
	}
	b, err := c.window.slice(at, recordHeadSize)
	if err != nil {
		return 0, err
	}
	size = recordLength(b)
	if at+size > f.end() {
		return bad("the record reaches beyond its batch")
	}
	if b, err = c.window.slice(at, size); err != nil {
		return 0, err
	}
	r, epoch, _, reason := decodeRecord(b, c.key)
	switch {
	case reason != "":
		return bad(reason)
	case r.Index != index:
		return bad(fmt.Sprintf("record %d is in its place", r.Index))
	case epoch != f.epoch:
		return bad("the record is older than its batch")
	}
	return size, nil
}

// later looks beyond offset for a frame head that is valid at its own place. Appends are synced one by one, so a frame
// that was written after the one at offset proves that the one at offset was durable once.
func (c *scanner) later(offset int64) (found int64, ok bool, err error) {
	return c.laterBefore(offset, c.size)
}

// laterBefore is later for a head that lies before limit.
func (c *scanner) laterBefore(offset, limit int64) (found int64, ok bool, err error) {
	for at := offset + 8; at+frameHeadSize <= limit; at += 8 {
		b, err := c.window.slice(at, frameHeadSize)
		if err != nil {
			return 0, false, err
		}
		if int64(le.Uint32(b[32:])) != at { // cheap, and almost always decisive
			continue
		}
		if f, ok := decodeFrame(b, c.key); ok && c.accepts(at, f.epoch) {
			return at, true, nil
		}
	}
	return 0, false, nil
}

// next returns where the frame after the damaged one at offset may begin: where its own head says that it ends, or at
// the next head. It returns end, known or not, if there is none.
func (c *scanner) next(offset, end int64) (int64, error) {
	limit := end
	if end == unknownEnd {
		limit = c.size
	}
	if f, err := c.head(offset); err == nil && f.end() <= limit {
		return f.end(), nil
	}
	at, found, err := c.laterBefore(offset, limit)
	if err != nil {
		return 0, c.readError(err, offset, 0)
	} else if !found {
		return end, nil
	}
	return at, nil
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

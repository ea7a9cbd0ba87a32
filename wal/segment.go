package wal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
)

// segment is one life of a segment file.
type segment struct {
	header
	name string // within the folder
	path string
	file File
	key  uint32 // the seed of its checksums

	// gate is held for reading while a reader uses file, and for writing to retire the segment.
	gate    sync.RWMutex
	retired bool

	// The rest belongs to the table that the segment is in, and is guarded by whatever guards that.

	base    uint64   // index of offsets[0]; also kept when there are none
	offsets []uint32 // where the live records are, rising
	end     int64    // after the last frame; headerSize if there is none
}

func newSegment(dir folder, h header, file File) *segment {
	name := segmentName(h.id)
	return &segment{header: h, name: name, path: dir.path(name), file: file, key: h.seed(), end: headerSize}
}

// unread returns the same segments without what was learnt from their frames.
func unread(segments []*segment) []*segment {
	fresh := make([]*segment, len(segments))
	for i, s := range segments {
		fresh[i] = &segment{header: s.header, name: s.name, path: s.path, file: s.file, key: s.key, end: headerSize}
	}
	return fresh
}

// openSegment opens a segment that the manifest names.
func openSegment(dir folder, logID, id uint64) (*segment, error) {
	path := dir.path(segmentName(id))
	corrupt := func(reason string) error { return &CorruptError{File: path, Reason: reason} }
	file, err := dir.open(segmentName(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, corrupt("the file is missing")
	} else if err != nil {
		return nil, fmt.Errorf("wal: open segment: %w", err)
	}
	h, err := readHeader(file)
	switch {
	case err != nil:
		err = atPath(err, path)
	case h.logID != logID:
		err = corrupt("the file belongs to another log")
	case h.id != id:
		err = corrupt(fmt.Sprintf("the file is segment %d under another name", h.id))
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return newSegment(dir, h, file), nil
}

func readHeader(file File) (header, error) {
	b := make([]byte, headerSize)
	if n, err := file.ReadAt(b, 0); n < len(b) {
		if errors.Is(err, io.EOF) {
			return header{}, &CorruptError{Reason: "the segment header is cut off"}
		}
		return header{}, err
	}
	h, reason, err := decodeHeader(b)
	if err != nil {
		return header{}, err
	} else if reason != "" {
		return header{}, &CorruptError{Reason: reason}
	}
	size, err := file.Size()
	if err != nil {
		return header{}, err
	}
	if size < h.size || h.size < headerSize {
		return header{}, &CorruptError{Offset: size,
			Reason: fmt.Sprintf("the file has %d bytes and should have %d", size, h.size)}
	}
	return h, nil
}

// atPath adds the file to an error that does not name it yet.
func atPath(err error, path string) error {
	var corrupt *CorruptError
	if errors.As(err, &corrupt) {
		corrupt.File = path
		return corrupt
	}
	return fmt.Errorf("wal: %s: %w", path, err)
}

// errRetired: the segment left the log between the look-up and the read; look again.
var errRetired = errors.New("wal: segment retired")

// oneRead is up to how many bytes a record is fetched without asking for its exact length first.
const oneRead = 64 << 10

// read returns the record index, which lies somewhere in [start, end).
func (s *segment) read(index uint64, start, end int64) (Record, error) {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.retired {
		return Record{}, errRetired
	}
	corrupt := func(reason string) error {
		return &CorruptError{File: s.path, Offset: start, Index: index, Reason: reason}
	}
	size := end - start
	if size > oneRead {
		var head [recordHeadSize]byte
		if err := readFull(s.file, head[:], start); err != nil {
			return Record{}, s.readError(err, start, index)
		}
		if n := recordLength(head[:]); n < size {
			size = n
		}
	}
	b := make([]byte, size)
	if err := readFull(s.file, b, start); err != nil {
		return Record{}, s.readError(err, start, index)
	}
	r, _, _, reason := decodeRecord(b, s.key)
	if reason != "" {
		return Record{}, corrupt(reason)
	}
	if r.Index != index {
		return Record{}, corrupt(fmt.Sprintf("record %d is in its place", r.Index))
	}
	return r, nil
}

func (s *segment) readError(err error, offset int64, index uint64) error {
	if errors.Is(err, io.EOF) {
		return &CorruptError{File: s.path, Offset: offset, Index: index, Reason: "the file is cut off"}
	}
	return fmt.Errorf("wal: read record %d: %s at offset %d: %w", index, s.path, offset, err)
}

// readFull reads all of b; io.EOF if the file ends before.
func readFull(file File, b []byte, offset int64) error {
	n, err := file.ReadAt(b, offset)
	if n == len(b) {
		return nil
	}
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// retire waits for readers and turns later ones away. The file stays open.
func (s *segment) retire() {
	s.gate.Lock()
	s.retired = true
	s.gate.Unlock()
}

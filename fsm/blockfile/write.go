package blockfile

import (
	"errors"
	"fmt"
	"maps"
)

// Append adds a blob. It is part of the set once Sync has returned and the index
// with its reference is committed. The blob is copied or written at once.
func (s *Set) Append(key, blob []byte) (Ref, error) {
	if len(key) != KeySize || uint64(len(blob)) > MaxBlob {
		return Ref{}, fmt.Errorf("key of %d bytes, blob of %d", len(key), len(blob))
	}
	if s.end.file == 0 || s.full || s.end.offset >= s.opts.FileBytes {
		if err := s.begin(); err != nil {
			return Ref{}, err
		}
	}
	ref := Ref{File: s.end.file, Offset: s.end.offset, Length: len(blob)}
	s.buf = append(appendFrame(s.buf, key, len(blob)), blob...)
	s.end.offset += ref.Size()
	if len(s.buf) < s.opts.BufferBytes {
		return ref, nil
	}
	return ref, s.write()
}

// BeginFile has the next blob begin a file.
func (s *Set) BeginFile() { s.full = true }

// Begin begins a file at once. After an error the one before goes on.
func (s *Set) Begin() error { return s.begin() }

// Current returns the number of the file that is appended to, 0 before the first.
func (s *Set) Current() uint64 { return s.end.file }

// begin starts the next file.
func (s *Set) begin() error {
	if err := s.write(); err != nil {
		return err
	}
	n := s.end.file + 1
	f, err := s.fs.Create(s.path(n))
	if err != nil {
		return fmt.Errorf("begin a block file: %w", err)
	}
	s.mu.Lock()
	s.files[n] = f
	s.mu.Unlock()
	s.buf = append(s.buf, header()...)
	s.end, s.full = position{n, int64(headerSize)}, false
	return nil
}

// write writes what is buffered.
func (s *Set) write() error {
	if len(s.buf) == 0 {
		return nil
	}
	n := s.end.file
	if _, err := s.file(n).WriteAt(s.buf, s.end.offset-int64(len(s.buf))); err != nil {
		return fmt.Errorf("write %s: %w", s.path(n), err)
	}
	s.grown[n] = s.end.offset
	s.buf = s.buf[:0]
	if cap(s.buf) > 4*s.opts.BufferBytes { // a huge blob was in it
		s.buf = nil
	}
	return nil
}

// Sync makes durable what was appended. It returns the extents of the files that
// have grown since the last commit, for the index to keep.
func (s *Set) Sync() (Extents, error) {
	if err := s.write(); err != nil {
		return nil, err
	}
	for n := range s.grown {
		if err := s.file(n).Sync(); err != nil {
			return nil, fmt.Errorf("sync %s: %w", s.path(n), err)
		}
	}
	if s.end.file != s.committed.file {
		if err := s.fs.SyncDir(s.dir); err != nil {
			return nil, fmt.Errorf("sync %s: %w", s.dir, err)
		}
	}
	return maps.Clone(s.grown), nil
}

// Committed tells that the index has taken up what was appended, and refers no
// more to the files in drop. They are removed; a reader that has them pinned can still read
// them.
func (s *Set) Committed(drop []uint64) error {
	s.committed = s.end
	clear(s.grown)
	return s.drop(drop)
}

// Rollback forgets what was appended since the last commit.
func (s *Set) Rollback() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for n := s.committed.file + 1; n <= s.end.file; n++ {
		if f := s.files[n]; f != nil { // it is not used yet
			err = errors.Join(err, f.Close(), s.fs.Remove(s.path(n)))
			delete(s.files, n)
		}
	}
	s.end, s.buf = s.committed, s.buf[:0]
	clear(s.grown)
	return err
}

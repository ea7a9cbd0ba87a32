package blockfile

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/turnlog/turnlog/internal/vfs"
)

// epoch is a span of time between two drops of files. The files dropped at its end
// are closed when no pin taken in it, or before it, is left.
type epoch struct {
	pins    int
	dropped []uint64
}

// Pin keeps the files that an index refers to readable although the index may
// move on. Take it before the transaction that reads the index begins, and release
// it after the transaction's end.
type Pin struct {
	set   *Set
	epoch *epoch
}

// Pin takes a pin.
func (s *Set) Pin() Pin {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.epochs[len(s.epochs)-1]
	e.pins++
	return Pin{s, e}
}

// Pinned reports whether files that were dropped are kept for readers.
func (s *Set) Pinned() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.epochs) > 1
}

// Release ends the pin.
func (p Pin) Release() {
	s := p.set
	s.mu.Lock()
	defer s.mu.Unlock()
	p.epoch.pins--
	_ = s.expire() // of files that are removed already
}

// Read returns the blob of a reference that the pinned index holds: in the memory of
// buf if ref.Size() fits into it, else in memory of its own.
func (p Pin) Read(buf, key []byte, ref Ref) ([]byte, error) { return p.set.read(buf, key, ref) }

// Read is Pin.Read, of appended blobs too that are not committed. It is for the
// goroutine that appends.
func (s *Set) Read(buf, key []byte, ref Ref) ([]byte, error) {
	start := s.end.offset - int64(len(s.buf)) // of what is not written yet
	if ref.File == s.end.file && ref.Offset >= start && ref.Offset+ref.Size() <= s.end.offset {
		return check(append(buf[:0], s.buf[ref.Offset-start:][:ref.Size()]...), key, ref)
	}
	return s.read(buf, key, ref)
}

func (s *Set) read(buf, key []byte, ref Ref) ([]byte, error) {
	f := s.file(ref.File)
	if f == nil {
		return nil, fmt.Errorf("%w: %s is not there", ErrCorrupt, s.path(ref.File))
	}
	if err := s.checkLength(f, ref); err != nil {
		return nil, err
	}
	b := slices.Grow(buf[:0], int(ref.Size()))[:ref.Size()]
	if err := s.readAt(ref.File, f, b, ref.Offset); err != nil {
		return nil, err
	}
	blob, err := check(b, key, ref)
	if err != nil {
		return nil, fmt.Errorf("%s at %d: %w", s.path(ref.File), ref.Offset, err)
	}
	return blob, nil
}

// suspect is the length from which on a reference is held against the size of the
// file before memory is taken for it.
const suspect = 1 << 20

func (s *Set) checkLength(f vfs.File, ref Ref) error {
	if ref.Length < suspect {
		return nil
	}
	size, err := f.Size()
	if err == nil && ref.Offset > size-ref.Size() {
		err = fmt.Errorf("%w: %s has %d bytes, a reference goes beyond", ErrCorrupt, s.path(ref.File), size)
	}
	return err
}

// file returns an open file, nil if there is none of that number.
func (s *Set) file(n uint64) vfs.File {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.files[n]
}

func (s *Set) readAt(n uint64, f vfs.File, b []byte, at int64) error {
	_, err := f.ReadAt(b, at)
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: it ends early", ErrCorrupt)
	}
	if err != nil {
		return fmt.Errorf("read %s at %d: %w", s.path(n), at, err)
	}
	return nil
}

// check returns the blob of a record that must be the one referred to.
func check(b, key []byte, ref Ref) ([]byte, error) {
	k, length, err := readFrame(b)
	if err != nil {
		return nil, err
	}
	if string(k) != string(key) || length != ref.Length {
		return nil, fmt.Errorf("%w: another record is there", ErrCorrupt)
	}
	return b[frameSize:], nil
}

// drop removes files, and closes them when no reader has them pinned.
func (s *Set) drop(numbers []uint64) error {
	if len(numbers) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for _, n := range numbers {
		err = errors.Join(err, s.fs.Remove(s.path(n)))
	}
	s.epochs[len(s.epochs)-1].dropped = numbers
	s.epochs = append(s.epochs, new(epoch))
	return errors.Join(err, s.expire())
}

// expire closes what no reader has pinned any more. The caller holds mu.
func (s *Set) expire() error {
	var err error
	for len(s.epochs) > 1 && s.epochs[0].pins == 0 {
		for _, n := range s.epochs[0].dropped {
			if f := s.files[n]; f != nil {
				err = errors.Join(err, f.Close())
				delete(s.files, n)
			}
		}
		s.epochs = s.epochs[1:]
	}
	return err
}

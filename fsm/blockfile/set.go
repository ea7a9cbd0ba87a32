package blockfile

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/turnlog/turnlog/internal/vfs"
)

// ErrCorrupt is in the chain of every error that tells of damage: a file that is
// missing or too short, a record that is not what its reference says.
var ErrCorrupt = errors.New("damaged block file")

// ErrNewer is in the chain of the error for a file written by a newer version.
var ErrNewer = errors.New("block file of a newer version")

// Extents says of each file by its number how many of its bytes count.
type Extents map[uint64]int64

// Options are the bounds of a Set; zero values mean the defaults.
type Options struct {
	FS vfs.FS // default: the operating system's, with early writeback
	// FileBytes is the size at which a file is full and the next is begun.
	// Default 64 MiB.
	FileBytes int64
	// BufferBytes is how much is gathered for one write. Default 1 MiB.
	BufferBytes int
}

// Set is a folder of block files. One goroutine at a time appends and syncs;
// pins are taken, read through and released by any.
type Set struct {
	fs   vfs.FS
	dir  string
	opts Options

	mu     sync.RWMutex
	files  map[uint64]vfs.File // all that are open: the index's, and dropped ones that are pinned
	epochs []*epoch            // the present one last

	end       position // where the next record goes
	committed position
	full      bool    // the next record begins a file
	buf       []byte  // the last bytes before end, not yet written
	grown     Extents // of the files written to since the last commit
}

// position is a place in a file.
type position struct {
	file   uint64
	offset int64
}

// FileBytes returns the size at which a file is full.
func (s *Set) FileBytes() int64 { return s.opts.FileBytes }

// Open opens the set in dir, which is created if it is not there. extents is what
// the index says: other files are leftovers of a crash and are removed.
func Open(dir string, extents Extents, opts Options) (*Set, error) {
	if opts.FS == nil {
		opts.FS = vfs.OS{EarlyWriteback: true}
	}
	if opts.FileBytes <= 0 {
		opts.FileBytes = 64 << 20
	}
	if opts.BufferBytes <= 0 {
		opts.BufferBytes = 1 << 20
	}
	s := &Set{
		fs: opts.FS, dir: dir, opts: opts,
		files: make(map[uint64]vfs.File), epochs: []*epoch{{}}, grown: make(Extents),
	}
	if err := s.open(extents); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Set) open(extents Extents) error {
	if err := s.fs.MkdirAll(s.dir); err != nil {
		return fmt.Errorf("create %s: %w", s.dir, err)
	}
	for n, size := range extents {
		f, err := s.openFile(n, size)
		if err != nil {
			return err
		}
		s.files[n] = f
		if n > s.end.file {
			s.end = position{n, size}
		}
	}
	s.committed = s.end
	return s.removeLeftovers(extents)
}

// openFile opens a file of which the first size bytes must be there.
func (s *Set) openFile(n uint64, size int64) (vfs.File, error) {
	f, err := s.fs.Open(s.path(n))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if err != nil { // such as too many open files
		return nil, err
	}
	err = s.checkFile(f, size)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", s.path(n), err), f.Close())
	}
	return f, nil
}

func (s *Set) checkFile(f vfs.File, size int64) error {
	has, err := f.Size()
	if err != nil {
		return err
	}
	if has < size {
		return fmt.Errorf("%w: it has %d bytes, of which %d are referred to", ErrCorrupt, has, size)
	}
	head := make([]byte, headerSize)
	if _, err := f.ReadAt(head, 0); err != nil {
		return err
	}
	return checkHeader(head)
}

func (s *Set) removeLeftovers(extents Extents) error {
	names, err := s.fs.List(s.dir)
	if err != nil {
		return fmt.Errorf("list %s: %w", s.dir, err)
	}
	for _, name := range names {
		n, ok := fileNumber(name)
		if _, known := extents[n]; !ok || known {
			continue
		}
		if err := s.fs.Remove(filepath.Join(s.dir, name)); err != nil {
			return fmt.Errorf("remove a leftover: %w", err)
		}
	}
	return nil
}

// Close closes all files. What was appended and not committed is gone.
func (s *Set) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for _, f := range s.files {
		err = errors.Join(err, f.Close())
	}
	clear(s.files)
	return err
}

const suffix = ".blk"

func (s *Set) path(n uint64) string {
	return filepath.Join(s.dir, fmt.Sprintf("%016d%s", n, suffix))
}

func fileNumber(name string) (uint64, bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, ok && err == nil
}

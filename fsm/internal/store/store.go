package store

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/fsm/blockfile"
	"github.com/turnlog/turnlog/fsm/internal/blockcache"
	"github.com/turnlog/turnlog/turn"
)

// Options are what a store needs.
type Options struct {
	Dir            string // must exist
	Disk           Disk
	BlockFileBytes int64 // 0: the default of blockfile
	CacheBytes     int   // of blocks that were read lately; negative: none are kept
	Log            *slog.Logger
}

// Store is the state as of the last flush: a bbolt file, and the block files to which that refers.
//
// One goroutine at a time may change it: by Update, Build, Replace, Reopen and Load. Any may
// read, but the caller sees to it that none begins to while Reopen runs.
type Store struct {
	Options
	db        *bbolt.DB               // replaced by reopen
	dbFile    atomic.Pointer[os.File] // the file of db, to ask for its size
	mapped    atomic.Int64            // the space that it was mapped into when it was opened
	files     *blockfile.Set
	cache     *blockcache.Cache
	known     knownPairs
	spaces    sync.Pool     // of *workspace
	committed atomic.Uint64 // the last transaction
	stuck     bool          // it cannot be closed
	uses      uses          // of the block files
	sweep     sweep
	short     atomic.Bool // of disk space: see SetSpace
	left      atomic.Int64
}

// Open opens the store in a directory, creating it if it is not there.
func Open(o Options) (*Store, error) {
	s := &Store{Options: o, cache: blockcache.New(o.CacheBytes)}
	var err error
	var mapped int64
	if s.db, mapped, err = openBolt(o.Disk, o.Dir); err != nil {
		return nil, err
	}
	file, err := openFileOf(s.db)
	if err != nil {
		return nil, errors.Join(err, s.db.Close())
	}
	s.dbFile.Store(file)
	s.mapped.Store(mapped)
	if err := s.openFiles(); err != nil {
		_ = s.current().Close()
		return nil, err
	}
	if err := removeUnfinished(o.Disk, o.Dir); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// openFiles opens the block files that the store refers to.
func (s *Store) openFiles() error {
	var used uses
	err := s.db.View(func(tx *bbolt.Tx) (err error) {
		used, err = loadUses(tx)
		return err
	})
	if err != nil {
		return err
	}
	s.files, err = blockfile.Open(filepath.Join(s.Dir, blocksDir), used.extents(),
		blockfile.Options{FS: s.Disk, FileBytes: s.BlockFileBytes})
	switch {
	case errors.Is(err, blockfile.ErrNewer):
		return turn.Errorf(turn.Newer, "open the block files: %v", err)
	case errors.Is(err, blockfile.ErrCorrupt):
		return turn.Errorf(turn.Corrupt, "open the block files: %v", err)
	case err != nil:
		return fmt.Errorf("open the block files: %w", err)
	}
	return nil
}

// Load begins to read a store that was opened, or reopened, from which on it can be used. Its
// account of the block files counts from now on.
func (s *Store) Load() (*Reading, error) {
	tx, err := s.Read()
	if err != nil {
		return nil, err
	}
	s.committed.Store(uint64(tx.ID()))
	if s.uses, err = loadUses(tx.Tx); err != nil {
		tx.End()
		return nil, err
	}
	s.sweep = sweep{}
	return tx, nil
}

// Path returns the path of the bbolt file.
func (s *Store) Path() string { return filepath.Join(s.Dir, storeName) }

// Close closes the store. It waits for what is read at the time.
func (s *Store) Close() error {
	return errors.Join(s.current().Close(), s.files.Close())
}

// current returns the bbolt file, to be closed.
func (s *Store) current() io.Closer { return openBoltFile{s.db, s.dbFile.Load(), s.stuck} }

// openBoltFile is a bbolt file that a store has, or had, open.
type openBoltFile struct {
	db    *bbolt.DB
	file  *os.File
	stuck bool
}

// Close closes the file, unless bbolt would wait for ever for what a damaged one left
// locked: then it stays open until the process ends.
func (f openBoltFile) Close() error {
	_ = f.file.Close() // it was only asked for its size
	if f.stuck {
		return nil
	}
	return f.db.Close()
}

// RemoveFiles tells the block files that the store has committed, and has no use
// for some.
func (s *Store) RemoveFiles(unused []uint64) {
	if err := s.files.Committed(unused); err != nil {
		s.Log.Warn("cannot remove a block file that is no longer needed", "error", err)
	}
}

// MapLeft returns by how many bytes the bbolt file can grow before readers must end for it to be mapped again.
// It waits for nothing: who asks is a reader for whom others may be waiting already.
func (s *Store) MapLeft() int64 {
	info, err := s.dbFile.Load().Stat()
	if err != nil {
		return 0 // it is not known
	}
	return s.mapped.Load() - info.Size()
}

// OpenFiles returns how many block files are open.
func (s *Store) OpenFiles() int { return s.files.OpenFiles() }

// BlockReads returns how often blocks were needed since the start, and how often they were in
// the cache.
func (s *Store) BlockReads() (reads, cached uint64) { return s.cache.Reads() }

// SetSpace says whether the disk is short of space, and how many bytes are left. As long as it is
// short, updates take the payloads of deleted sessions off the disk at once, and empty block files
// of which less is garbage than usual.
func (s *Store) SetSpace(short bool, left uint64) {
	s.left.Store(int64(min(left, math.MaxInt64)))
	s.short.Store(short)
}

// WorthTidying reports whether, on a disk that is short of space, there is a file to empty.
func (s *Store) WorthTidying() bool {
	return s.short.Load() && s.uses.sparsest(math.MaxUint64, s.worthNow()) != 0
}

// SetCache has the store begin a cache of so many bytes. Nothing may be read from it at the time.
func (s *Store) SetCache(bytes int) { s.cache = blockcache.New(bytes) }

// CacheSize returns how many blocks are in the cache, and their bytes.
func (s *Store) CacheSize() (blocks, bytes int) { return s.cache.Size() }

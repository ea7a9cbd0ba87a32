package vote

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/turnlog/turnlog/internal/vfs"
	"github.com/turnlog/turnlog/turn"
)

// Store is a raft.StableStore. It keeps Raft's term and vote. It remembers the highest term
// that it was ever asked to keep, which is never behind any vote that this node gave: Raft
// persists a term before it grants a vote in it or takes entries of it.
//
// Its files are written one after the other, and each is synced. At a crash one of them is
// whole; it has every change that counted as kept. A file that could not be written is
// removed: what is older than the other must not be left to take its place.
type Store struct {
	cfg    Config
	lock   io.Closer
	first  *pageFile
	second *pageFile

	mu       sync.Mutex // held while record changes
	record   record
	failed   bool // a change failed: there is no other
	full     bool // the disk was at the last change: there is no second file
	closed   bool
	promised atomic.Uint64
}

// Names of files in a node's data directory.
const (
	FileName = "vote"
	CopyName = "vote-copy"
	lockName = "vote.lock"
)

// The keys that Raft uses.
const (
	KeyTerm     = "CurrentTerm"  // the key of the term that the node is in
	KeyVoteTerm = "LastVoteTerm" // of that of its last vote, which is written first
	KeyVote     = "LastVoteCand" // of the candidate of that vote
)

// Config configures a Store. All fields are required.
type Config struct {
	Disk vfs.FS
	Halt func(error) // makes the node stop and ends the calling goroutine: it does not return
	// Member reports whether the folder is that of a node that may have voted already.
	Member func() (bool, error)
	Logger *slog.Logger
}

// Open opens the files in dir, or makes them. No other Store can be open there. If neither file
// of a member can be believed, the error is of kind turn.Corrupt.
func Open(dir string, cfg Config) (*Store, error) {
	file := func(name string) *pageFile { return &pageFile{disk: cfg.Disk, path: filepath.Join(dir, name)} }
	s := &Store{cfg: cfg, first: file(FileName), second: file(CopyName)}
	var err error
	if s.lock, err = cfg.Disk.Lock(filepath.Join(dir, lockName)); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = fmt.Errorf("%s is in use, by another process or elsewhere in this one: %w", dir, err)
		}
		return nil, err
	}
	if err := s.restore(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.promised.Store(max(s.record.term, s.record.voteTerm))
	return s, nil
}

// restore takes over what the files hold, and has both hold it. Either of them will do: the second
// one is gone, durably, before a change counts that it does not hold.
//
// What was read may be in the kernel's memory alone, if the process was killed before its sync or the
// sync failed. So both are written again, and synced, before anything counts that is in them.
func (s *Store) restore() error {
	first, err := s.first.read()
	second, err2 := s.second.read()
	for _, err := range []error{err, err2} {
		if err != nil && !turn.Is(err, turn.Corrupt) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if first == nil && second == nil {
		if errors.Is(err, fs.ErrNotExist) && errors.Is(err2, fs.ErrNotExist) {
			return s.begin()
		}
		return errors.Join(err, err2)
	}
	if first == nil || second == nil && !errors.Is(err2, fs.ErrNotExist) {
		s.cfg.Logger.Warn("one of two files with term and vote is damaged or missing; the other one takes its place",
			"reason", errors.Join(err, err2))
	}
	s.record = record{}
	for _, r := range []*record{first, second} {
		if r != nil && r.sequence >= s.record.sequence {
			s.record = *r
		}
	}
	return errors.Join(s.hold(), s.cfg.Disk.SyncDir(filepath.Dir(s.first.path)))
}

// begin makes the files of a new node. They are written before its identity is.
func (s *Store) begin() error {
	if known, err := s.cfg.Member(); err != nil {
		return err
	} else if known {
		return turn.Errorf(turn.Corrupt, "%s is missing, and with it what this node voted for", s.first.path)
	}
	s.record.sequence = 1
	return s.hold()
}

// hold has both files hold the record.
func (s *Store) hold() error {
	page := s.record.encode()
	if err := s.first.hold(page); err != nil {
		return err
	}
	return s.holdSecond(page)
}

// holdSecond has the second file hold a page. On a full disk the node goes on without one,
// rather than with one that is older than the first.
func (s *Store) holdSecond(page []byte) error {
	err := s.second.hold(page)
	full := errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
	if full && !s.full {
		s.cfg.Logger.Warn("the disk is full: term and vote have no second copy until it has room", "error", err)
	}
	s.full = full
	if !full {
		return err
	}
	return s.second.drop()
}

// keep changes the record, durably, or ends the node. The caller holds mu. After a change that
// failed there is no other: a sync is not tried again.
func (s *Store) keep(change func(*record)) {
	if s.failed {
		s.cfg.Halt(errors.New("vote: an earlier change failed"))
	}
	before := s.record
	change(&s.record)
	s.record.sequence++
	if err := s.hold(); err != nil {
		s.record, s.failed = before, true
		s.cfg.Halt(fmt.Errorf("vote: %w", err))
	}
}

// Promised returns a term such that this node has given no vote in, and taken
// no entry of, any higher one before the call.
func (s *Store) Promised() uint64 { return s.promised.Load() }

// Set implements raft.StableStore, for the candidate of a vote.
func (s *Store) Set(key, val []byte) error {
	if string(key) != KeyVote || len(val) > maxCandidate {
		return fmt.Errorf("vote: there is no place for %d bytes under %q: nothing was written", len(val), key)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(func(r *record) { r.candidate = bytes.Clone(val) })
	return nil
}

// SetUint64 implements raft.StableStore, for terms. The term on disk never goes back, whatever
// Raft asks for.
//
// Raft writes the term of a vote first, and then for whom it is. In between there is no vote in
// that term: with the candidate of the vote before, a node that was killed there would take it
// for one that it has given already, and give it again without a look at the candidate's log.
func (s *Store) SetUint64(key []byte, val uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch string(key) {
	case KeyTerm:
		if val < s.promised.Load() {
			return nil
		}
		s.keep(func(r *record) { r.term = val }) // does not return if it fails
	case KeyVoteTerm:
		s.keep(func(r *record) { r.voteTerm, r.candidate = val, nil })
	default:
		return fmt.Errorf("vote: there is no place for %q: nothing was written", key)
	}
	s.promised.Store(max(s.promised.Load(), val))
	return nil
}

// Spend prevents further votes in a term, in which this node may have voted already.
func (s *Store) Spend(term uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if voted := s.record.voteTerm; voted < term || voted == term && len(s.record.candidate) == 0 {
		s.keep(func(r *record) { r.voteTerm, r.candidate = term, []byte("unknown") })
	}
}

// Get implements raft.StableStore: nil if there is nothing under the key.
func (s *Store) Get(key []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if string(key) != KeyVote || len(s.record.candidate) == 0 {
		return nil, nil
	}
	return bytes.Clone(s.record.candidate), nil
}

// GetUint64 implements raft.StableStore; a key that was never set is 0.
func (s *Store) GetUint64(key []byte) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch string(key) {
	case KeyTerm:
		return s.record.term, nil
	case KeyVoteTerm:
		return s.record.voteTerm, nil
	}
	return 0, nil
}

// SetTerm keeps a term that this node goes on to, or ends the node.
func (s *Store) SetTerm(term uint64) { _ = s.SetUint64([]byte(KeyTerm), term) } // it ends the node rather than fail

// Close closes the files. Another call does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return errors.Join(s.first.close(), s.second.close(), s.lock.Close())
}

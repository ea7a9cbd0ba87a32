package vote

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
)

// Store is a raft.StableStore. It keeps Raft's term and vote, sealed (seal.go). It remembers the
// highest term that it was ever asked to keep, which is never behind any vote that
// this node gave: Raft persists a term before it grants a vote in it or takes entries
// of it. There is a second copy of it (copy.go).
type Store struct {
	cfg    Config
	db     *bbolt.DB
	second *voteCopy

	mu       sync.Mutex // makes Set of the term and its maximum one step
	values   map[string][]byte
	promised atomic.Uint64
}

// FileName is the name of the file in a node's data directory.
const FileName = "raft.db"

// The keys that Raft uses.
const (
	KeyTerm     = "CurrentTerm" // the key of the term that the node is in
	keyVoteTerm = "LastVoteTerm"
	keyVote     = "LastVoteCand"
)

// bucketStable is that of raft-boltdb, which the first versions used.
var bucketStable = []byte("conf")

// Config configures a Store. All fields are required.
type Config struct {
	Halt func(error) // makes the node stop and ends the calling goroutine: it does not return
	// Member reports whether the folder is that of a node that may have voted already.
	Member func() (bool, error)
	Logger *slog.Logger
}

// Open opens the file at path, or makes one, and its second copy beside it.
func Open(path string, cfg Config) (*Store, error) {
	c, err := openVoteCopy(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	s := &Store{cfg: cfg, second: c}
	pairs, err := s.read(path)
	if err = s.restore(path, err); err == nil && s.values == nil {
		pairs, err = s.read(path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", path, err), c.Close())
	}
	s.db, err = bbolt.Open(path, 0o600,
		&bbolt.Options{Timeout: time.Second, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), c.Close())
	}
	if err := s.sealAll(pairs); err != nil {
		return nil, errors.Join(fmt.Errorf("write %s: %w", path, err), s.Close())
	}
	err = s.db.View(func(tx *bbolt.Tx) error { return s.copied(uint64(tx.ID())) })
	if err != nil { // a node comes up on a full disk; the copy is an older one until it can be written
		s.cfg.Logger.Warn("cannot write the second copy of term and vote; continuing with one", "file", c.path,
			"error", err)
	}
	for _, key := range []string{KeyTerm, keyVoteTerm} {
		s.promised.Store(max(s.promised.Load(), number(s.values[key])))
	}
	return s, nil
}

// read reads the file at path, with values nil if it cannot be believed.
func (s *Store) read(path string) (stored map[string][]byte, err error) {
	s.values = nil
	if stored, err = readStable(path, s.cfg.Member); err == nil {
		s.values, err = unsealAll(stored)
	}
	return stored, err
}

// restore puts the second copy in the place of a file that is damaged, if damage says so, or
// that is an older copy of itself. It returns what it cannot help with; if it helped, values
// is nil.
func (s *Store) restore(path string, damage error) error {
	if damage != nil && !IsDamage(damage) {
		return damage
	}
	last, err := newestRoot(path)
	if err != nil {
		return err
	}
	switch copied := s.second.transaction(); {
	case damage == nil && last >= copied:
		return nil
	case last == 0, last > copied:
		return damage // nothing tells that the copy is as new as the file was
	}
	if damage == nil {
		damage = errors.New("it is an older copy")
	}
	s.cfg.Logger.Warn("the file with term and vote is damaged; using its second copy", "file", path,
		"reason", damage)
	s.values = nil
	if err := restoreStable(path, s.second); err != nil {
		return fmt.Errorf("%w; its second copy cannot take its place: %w", damage, err)
	}
	return nil
}

// sealAll brings the file to the form in which nothing can be missing from it: with
// all of Raft's keys, sealed. It does not write if it has that already: a node must
// come up on a full disk.
func (s *Store) sealAll(stored map[string][]byte) error {
	changed := make(map[string][]byte)
	for _, key := range []string{KeyTerm, keyVoteTerm, keyVote} {
		if _, known := s.values[key]; !known {
			s.values[key] = nil
			if key != keyVote {
				s.values[key] = make([]byte, 8)
			}
		}
		if sealed := seal([]byte(key), s.values[key]); !bytes.Equal(sealed, stored[key]) {
			changed[key] = sealed
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return s.db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(bucketStable)
		if err != nil {
			return err
		}
		for key, sealed := range changed {
			if err := b.Put([]byte(key), sealed); err != nil {
				return err
			}
		}
		return nil
	})
}

// Promised returns a term such that this node has given no vote in, and taken
// no entry of, any higher one before the call.
func (s *Store) Promised() uint64 { return s.promised.Load() }

// Set implements raft.StableStore.
func (s *Store) Set(key, val []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(stableValue{string(key), val})
	return nil
}

type stableValue struct {
	key   string
	value []byte
}

// put keeps values, all or none, or ends the node. The caller holds mu.
func (s *Store) put(values ...stableValue) {
	var transaction uint64
	err := s.db.Update(func(tx *bbolt.Tx) error {
		transaction = uint64(tx.ID())
		b := tx.Bucket(bucketStable)
		for _, v := range values {
			if err := b.Put([]byte(v.key), seal([]byte(v.key), v.value)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.cfg.Halt(fmt.Errorf("vote: write Raft's vote: %w", err))
	}
	for _, v := range values {
		s.values[v.key] = bytes.Clone(v.value)
	}
	if err := s.copied(transaction); err != nil {
		s.cfg.Halt(fmt.Errorf("vote: write the second copy of Raft's vote: %w", err))
	}
}

// copied keeps the second copy as of a transaction. On a full disk the node goes on without
// one, rather than with one that is older than the file.
func (s *Store) copied(transaction uint64) error {
	err := s.second.keep(transaction, s.values)
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return err
	}
	s.cfg.Logger.Warn("the disk is full: term and vote have no second copy until there is space", "file", s.second.path,
		"error", err)
	return s.second.drop()
}

// SetUint64 implements raft.StableStore. The term on disk never goes back, whatever
// Raft asks for.
//
// Raft writes the term of a vote first, and then for whom it is. In between there is no vote in
// that term: with the candidate of the vote before, a node that was killed there would take it
// for one that it has given already, and give it again without a look at the candidate's log.
func (s *Store) SetUint64(key []byte, val uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := string(key)
	if k == KeyTerm && val < s.promised.Load() {
		return nil
	}
	values := []stableValue{{k, binary.BigEndian.AppendUint64(nil, val)}}
	if k == keyVoteTerm {
		values = append(values, stableValue{keyVote, nil})
	}
	s.put(values...) // does not return if it fails
	if k == KeyTerm || k == keyVoteTerm {
		s.promised.Store(max(s.promised.Load(), val))
	}
	return nil
}

// Spend prevents further votes in a term, in which this node may have voted already.
func (s *Store) Spend(term uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if voted := number(s.values[keyVoteTerm]); voted < term || voted == term && len(s.values[keyVote]) == 0 {
		s.put(stableValue{keyVoteTerm, binary.BigEndian.AppendUint64(nil, term)},
			stableValue{keyVote, []byte("unknown")})
	}
}

// Get implements raft.StableStore: nil if the key was never set.
func (s *Store) Get(key []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]byte(nil), s.values[string(key)]...), nil
}

// GetUint64 implements raft.StableStore; a key that was never set is 0.
func (s *Store) GetUint64(key []byte) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return number(s.values[string(key)]), nil
}

// SetTerm keeps a term that this node goes on to, or ends the node.
func (s *Store) SetTerm(term uint64) { _ = s.SetUint64([]byte(KeyTerm), term) } // it ends the node rather than fail

// Synced reports whether every change is synced before it counts: it is, but for mutants.
func (s *Store) Synced() bool { return !s.db.NoSync }

// Close closes the files.
func (s *Store) Close() error { return errors.Join(s.db.Close(), s.second.Close()) }

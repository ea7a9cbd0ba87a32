package raftstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

// stableStore keeps Raft's term and vote. It remembers the highest term that it
// was ever asked to keep, which is never behind any vote that this node gave:
// Raft persists a term before it grants a vote in it or takes entries of it.
type stableStore struct {
	db   *raftboltdb.BoltStore
	halt func(error) // does not return

	mu       sync.Mutex // makes Set of the term and its maximum one step
	promised atomic.Uint64
}

const stableName = "raft.db"

// The keys that Raft uses.
const (
	keyTerm     = "CurrentTerm"
	keyVoteTerm = "LastVoteTerm"
)

func openStable(path string, halt func(error)) (*stableStore, error) {
	db, err := raftboltdb.New(raftboltdb.Options{
		Path:        path,
		BoltOptions: &bbolt.Options{Timeout: time.Second, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType},
	})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	s := &stableStore{db: db, halt: halt}
	for _, key := range []string{keyTerm, keyVoteTerm} {
		term, err := s.GetUint64([]byte(key))
		if err != nil {
			_ = db.Close()
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		s.promised.Store(max(s.promised.Load(), term))
	}
	return s, nil
}

// Promised returns a term such that this node has given no vote in, and taken
// no entry of, any higher one before the call.
func (s *stableStore) Promised() uint64 { return s.promised.Load() }

// Set implements raft.StableStore.
func (s *stableStore) Set(key, val []byte) error {
	if err := s.db.Set(key, val); err != nil {
		s.halt(fmt.Errorf("raftstore: write Raft's vote: %w", err))
	}
	return nil
}

// SetUint64 implements raft.StableStore. The term on disk never goes back: Raft
// handles heartbeats beside its main loop, where a candidate's term can be
// overwritten by the one before.
func (s *stableStore) SetUint64(key []byte, val uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := string(key); k == keyTerm || k == keyVoteTerm {
		defer func() { s.promised.Store(max(s.promised.Load(), val)) }()
		if k == keyTerm && val < s.promised.Load() {
			return nil
		}
	}
	return s.Set(key, binary.BigEndian.AppendUint64(nil, val))
}

// Get implements raft.StableStore.
func (s *stableStore) Get(key []byte) ([]byte, error) {
	b, err := s.db.Get(key)
	if errors.Is(err, raftboltdb.ErrKeyNotFound) {
		return nil, nil
	}
	return b, err
}

// GetUint64 implements raft.StableStore; a key that was never set is 0.
func (s *stableStore) GetUint64(key []byte) (uint64, error) {
	v, err := s.db.GetUint64(key)
	if errors.Is(err, raftboltdb.ErrKeyNotFound) {
		return 0, nil
	}
	return v, err
}

func (s *stableStore) Close() error { return s.db.Close() }

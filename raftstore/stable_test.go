package raftstore

import (
	"path/filepath"
	"testing"
)

func TestStableStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "raft.db")
	open := func() *stableStore {
		s, err := openStable(path, func(err error) { t.Fatal(err) })
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	set := func(s *stableStore, key string, v uint64) {
		t.Helper()
		if err := s.SetUint64([]byte(key), v); err != nil {
			t.Fatal(err)
		}
	}
	s := open()
	if v, err := s.GetUint64([]byte(keyTerm)); v != 0 || err != nil {
		t.Fatalf("a new store has term %d, %v", v, err)
	}
	if b, err := s.Get([]byte("x")); b != nil || err != nil {
		t.Fatalf("%q, %v", b, err)
	}
	set(s, keyTerm, 5)
	set(s, keyTerm, 4) // a heartbeat that overtook an election
	if v, _ := s.GetUint64([]byte(keyTerm)); v != 5 || s.Promised() != 5 {
		t.Fatalf("the term went back to %d, promised %d", v, s.Promised())
	}
	set(s, keyVoteTerm, 7)
	if s.Promised() != 7 {
		t.Fatalf("promised %d after a vote in term 7", s.Promised())
	}
	set(s, "other", 1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open()
	defer s.Close()
	if s.Promised() != 7 {
		t.Fatalf("promised %d after reopening", s.Promised())
	}
}

package raftstore

import (
	"github.com/turnlog/turnlog/internal/vote"
)

// terms is Raft's stable store. A term begins when the log is settled.
type terms struct {
	*vote.Store
	begin func(term uint64)
}

// SetUint64 implements raft.StableStore.
func (t terms) SetUint64(key []byte, val uint64) error {
	if string(key) == vote.KeyTerm {
		t.begin(val)
	}
	return t.Store.SetUint64(key, val)
}

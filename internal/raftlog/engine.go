package raftlog

import (
	"context"

	"github.com/hashicorp/raft"
)

// An Engine keeps the log's entries. Its indexes are contiguous.
type Engine interface {
	FirstIndex() uint64 // 0 if empty
	LastIndex() uint64
	// Append makes entries durable that continue the log; after Reset it takes
	// any first index. ErrNoSpace of package wal: nothing was written.
	Append(logs []*raft.Log) error
	// Get returns raft.ErrLogNotFound for an index that is not there.
	Get(index uint64, log *raft.Log) error
	TruncateBefore(index uint64) error
	TruncateAfter(index uint64) error
	Reset(next uint64) error
	// IndexForTail returns the lowest index from which the entries to the end
	// have at most so many bytes.
	IndexForTail(bytes int64) uint64
	// Room returns how many bytes Append surely finds allocated.
	Room() int64
	// OpenFiles returns how many files are open whose number grows with the log.
	OpenFiles() int
	Run(context.Context) error
	Close() error
}

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
	// TailBytes returns how many bytes the entries from index on take.
	TailBytes(index uint64) int64
	// Wanted returns how many bytes of the disk the engine is waiting for, so that it can go on when Room is used up.
	Wanted() int64
	// SaveSpace says whether the disk has better use for space that the engine only keeps for later.
	SaveSpace(bool)
	// OpenFiles returns how many files are open whose number grows with the log.
	OpenFiles() int
	Run(context.Context) error
	Close() error
}

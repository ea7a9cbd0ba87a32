package wal

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

// Log is an open write-ahead log.
//
// Locks are taken in the order writer, admin, mu, and last the gate of a segment. Nothing is written or read on disk
// under mu.
type Log struct {
	opts     Options
	dir      folder
	lock     io.Closer
	counters counters
	failure  atomic.Pointer[error] // set once: a *FailedError or ErrClosed
	epoch    uint32                // of the frames that are written; set by Open
	wake     chan struct{}         // capacity 1: Run should prepare a segment, or remove spares
	saving   atomic.Bool           // see SaveSpace
	wanted   atomic.Bool           // see Wanted
	done     chan struct{}         // closed by Close

	// one Append or truncation at a time; guards buf, offsets, and together with mu the contents of the table
	writer  sync.Mutex
	buf     []byte
	offsets []uint32

	admin    sync.Mutex // guards the manifest and the list of spares, and all changes to the folder
	manifest *manifestFile
	spares   []string // names of recycled files

	mu    sync.RWMutex // guards the rest, and the tables' part of each segment
	table table
	ready []*segment // prepared segments that follow the table's last one
	cache cache
}

// fail stops the log. The first failure is the one that all later calls return.
func (l *Log) fail(op, file string, err error) error {
	var failed error = &FailedError{Op: op, File: file, Err: err}
	if l.failure.CompareAndSwap(nil, &failed) {
		l.opts.Logger.Error("the log has failed", "error", failed)
	}
	return l.stopped()
}

// stopped returns why the log takes no more calls, or nil.
func (l *Log) stopped() error {
	if err := l.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// FirstIndex returns the index of the oldest record, 0 if there is none.
func (l *Log) FirstIndex() uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.table.empty() {
		return 0
	}
	return l.table.first
}

// LastIndex returns the index of the newest record, 0 if there is none.
func (l *Log) LastIndex() uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.table.empty() {
		return 0
	}
	return l.table.next - 1
}

// NextIndex returns the index that the next record must have, 0 if it may have any.
func (l *Log) NextIndex() uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.table.next
}

// Get returns a record. Its slices are shared with other readers and must not be changed. A record that is read from
// disk is verified and takes one allocation; a recent one comes from memory and takes none. Errors: ErrNotFound,
// *CorruptError, ErrClosed, *FailedError, or that of a failed read, which does not stop the log.
func (l *Log) Get(index uint64) (Record, error) {
	for {
		if err := l.stopped(); err != nil {
			return Record{}, err
		}
		l.mu.RLock()
		if index < l.table.first || index >= l.table.next {
			l.mu.RUnlock()
			return Record{}, ErrNotFound
		}
		if r, ok := l.cache.get(index); ok {
			l.mu.RUnlock()
			l.counters.hits.Add(1)
			return r, nil
		}
		s, start, end := l.table.find(index)
		l.mu.RUnlock()
		l.counters.misses.Add(1)
		r, err := s.read(index, start, end)
		if errors.Is(err, errRetired) {
			continue // truncated or closed meanwhile: the next round sees which
		}
		return r, err
	}
}

// IndexForTail returns the lowest index such that the records from it to the end take at most so many bytes on disk:
// LastIndex+1 if not even the last record does, 0 if the log is empty.
func (l *Log) IndexForTail(bytes int64) uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.table.empty() {
		return 0
	}
	return l.table.indexForTail(bytes)
}

// TailBytes returns how many bytes on disk the records from index on take.
func (l *Log) TailBytes(index uint64) int64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.table.tailBytes(index)
}

// randomID draws a number that is not 0.
func (l *Log) randomID() (uint64, error) {
	for {
		var b [8]byte
		if _, err := io.ReadFull(l.opts.Rand, b[:]); err != nil {
			return 0, fmt.Errorf("wal: no randomness: %w", err)
		}
		if id := le.Uint64(b[:]); id != 0 {
			return id, nil
		}
	}
}

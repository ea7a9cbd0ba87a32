package raftlog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/wal"
)

// boltEngine is the alternative engine: raft-boltdb, one file.
type boltEngine struct {
	db *raftboltdb.BoltStore

	mu sync.Mutex
	// sizes of the entries first … first+len(sizes)-1, for IndexForTail.
	first uint64
	sizes []int32
}

// OpenBolt opens the engine on raft-boltdb in a file, or makes one.
func OpenBolt(path string) (Engine, error) {
	db, err := raftboltdb.New(raftboltdb.Options{
		Path:        path,
		BoltOptions: &bbolt.Options{Timeout: time.Second, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType},
	})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	b := &boltEngine{db: db}
	if err := b.measure(); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return b, nil
}

func (b *boltEngine) measure() error {
	first, err := b.db.FirstIndex()
	if err != nil {
		return err
	}
	last, err := b.db.LastIndex()
	if err != nil || last == 0 {
		return err
	}
	b.first = first
	for i := first; i <= last; i++ {
		var log raft.Log
		if err := b.db.GetLog(i, &log); err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
		b.sizes = append(b.sizes, int32(len(log.Data)))
	}
	return nil
}

func (b *boltEngine) FirstIndex() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.sizes) == 0 {
		return 0
	}
	return b.first
}

func (b *boltEngine) LastIndex() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lastLocked()
}

func (b *boltEngine) lastLocked() uint64 {
	if len(b.sizes) == 0 {
		return 0
	}
	return b.first + uint64(len(b.sizes)) - 1
}

func (b *boltEngine) Append(logs []*raft.Log) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if last := b.lastLocked(); last != 0 && logs[0].Index != last+1 {
		return fmt.Errorf("%w: entry %d after %d", wal.ErrOutOfOrder, logs[0].Index, last)
	}
	if err := b.db.StoreLogs(logs); err != nil {
		return notStored(err)
	}
	if len(b.sizes) == 0 {
		b.first = logs[0].Index
	}
	for _, l := range logs {
		b.sizes = append(b.sizes, int32(len(l.Data)))
	}
	return nil
}

// notStored returns why entries were not stored. On a full disk, or beyond a quota, the transaction
// was not committed, and can be tried again.
func notStored(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w (%w)", wal.ErrNoSpace, err)
	}
	return err
}

func (b *boltEngine) Get(index uint64, log *raft.Log) error { return b.db.GetLog(index, log) }

func (b *boltEngine) TruncateBefore(index uint64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.sizes) == 0 || index <= b.first {
		return nil
	}
	n := min(index-b.first, uint64(len(b.sizes)))
	if err := b.removeLocked(b.first, b.first+n-1, true); err != nil {
		return err
	}
	b.first += n
	b.sizes = append([]int32(nil), b.sizes[n:]...)
	return nil
}

func (b *boltEngine) TruncateAfter(index uint64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	last := b.lastLocked()
	if index >= last {
		return nil
	}
	from := max(index+1, b.first)
	if err := b.removeLocked(from, last, false); err != nil {
		return err
	}
	b.sizes = b.sizes[:from-b.first]
	return nil
}

func (b *boltEngine) Reset(uint64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.sizes) == 0 {
		return nil
	}
	if err := b.removeLocked(b.first, b.lastLocked(), false); err != nil {
		return err
	}
	b.sizes = nil
	return nil
}

// removeLocked removes a range piece by piece, a prefix from its front and a
// suffix from its end on: a crash in between leaves no hole. It looks again
// within each piece, since a bbolt cursor that deletes can pass over the next key.
func (b *boltEngine) removeLocked(low, high uint64, prefix bool) error {
	const piece = 256
	for low <= high {
		from, to := low, min(high, low+piece-1)
		if !prefix {
			from, to = max(low, high-min(high, piece-1)), high
		}
		for i := from; i <= to; i++ {
			var log raft.Log
			if err := b.db.GetLog(i, &log); errors.Is(err, raft.ErrLogNotFound) {
				continue
			}
			if err := b.db.DeleteRange(i, to); err != nil {
				return err
			}
		}
		if prefix {
			low = to + 1
		} else {
			high = from - 1
		}
	}
	return nil
}

func (b *boltEngine) IndexForTail(bytes int64) uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	index := b.first + uint64(len(b.sizes))
	for i := len(b.sizes) - 1; i >= 0; i-- {
		if bytes -= int64(b.sizes[i]); bytes < 0 {
			break
		}
		index--
	}
	return index
}

// TailBytes implements Engine.
func (b *boltEngine) TailBytes(index uint64) (bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, size := range b.sizes[min(max(index, b.first)-b.first, uint64(len(b.sizes))):] {
		bytes += int64(size)
	}
	return bytes
}

// Wanted implements Engine: it asks for no space before it needs it.
func (b *boltEngine) Wanted() int64 { return 0 }

// SaveSpace implements Engine: it keeps nothing that it could give back.
func (b *boltEngine) SaveSpace(bool) {}

// Room implements Engine: a transaction always takes new pages.
func (b *boltEngine) Room() int64 { return 0 }

// OpenFiles implements Engine: there is one file, however long the log is.
func (b *boltEngine) OpenFiles() int { return 0 }

// Run implements Engine; there is nothing to do beside the calls.
func (b *boltEngine) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

func (b *boltEngine) Close() error { return b.db.Close() }

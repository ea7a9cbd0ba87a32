package wal_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/turnlog/turnlog/wal"
)

// TestConcurrency has one appender, who also replaces suffixes, a truncator and several readers at work at once, with
// Run preparing segments. A reader sees the record that it asked for or ErrNotFound, and never a record that had been
// gone when it began.
func TestConcurrency(t *testing.T) {
	for name, cacheBytes := range map[string]int64{"cache": 20 << 10, "no cache": -1} {
		t.Run(name, func(t *testing.T) { testConcurrency(t, cacheBytes) })
	}
}

func testConcurrency(t *testing.T, cacheBytes int64) {
	syncs := 0
	l, err := wal.Open(t.TempDir(),
		wal.Options{SegmentBytes: 16 << 10, CacheBytes: cacheBytes, Logger: quiet, MarkInterval: time.Millisecond,
			OnSync: func(time.Duration) { syncs++ }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var group sync.WaitGroup
	group.Go(func() {
		if err := l.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	var last atomic.Uint64 // records up to here are never replaced
	for range 2 {
		group.Go(func() { readUntilDone(t, ctx, l, &last) })
	}
	group.Go(func() {
		for ctx.Err() == nil {
			if keep := l.IndexForTail(40 << 10); keep > 1 {
				if err := l.TruncateBefore(min(keep, last.Load()+1)); err != nil {
					t.Errorf("truncate: %v", err)
				}
			}
			l.Stats()
		}
	})
	const rounds = 50
	for range rounds {
		next := max(1, l.NextIndex())
		mustAppend(t, l, records(next, 3, 300), records(next+3, 2, 200))
		if err := l.TruncateAfter(next + 3); err != nil {
			t.Fatal(err)
		}
		last.Store(next + 3)
	}
	cancel()
	group.Wait()
	stats := l.Stats()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if stats.Appends != uint64(2*rounds) || stats.Records != uint64(5*rounds) || int(stats.Syncs) != syncs ||
		stats.SyncMax < stats.SyncLast || !stats.SyncStarted.IsZero() {
		t.Fatalf("stats: %+v, and OnSync was called %d times", stats, syncs)
	}
}

func readUntilDone(t *testing.T, ctx context.Context, l *wal.Log, last *atomic.Uint64) {
	for index := uint64(1); ctx.Err() == nil; index++ {
		first, end := l.FirstIndex(), last.Load()
		if index > l.LastIndex() || index < first {
			index = max(first, 1)
		}
		r, err := l.Get(index)
		switch {
		case errors.Is(err, wal.ErrNotFound):
			if index <= end && index >= l.FirstIndex() {
				t.Errorf("record %d is not found", index)
			}
			continue
		case err != nil:
			t.Errorf("get: %v", err)
			return
		}
		want := record(index, len(r.Data))
		if r.Index != index || !bytes.Equal(r.Data, want.Data) {
			t.Errorf("record %d is %d %.20q", index, r.Index, r.Data)
		}
	}
}

// TestCloseEndsRun closes the log under Run.
func TestCloseEndsRun(t *testing.T) {
	l, err := wal.Open(t.TempDir(), wal.Options{SegmentBytes: 16 << 10, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- l.Run(context.Background()) }()
	mustAppend(t, l, records(1, 3, 100))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

package fsm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

// The flush of a deletion touches no block: were each read and rewritten first, the
// flush of 50,000 sessions would take seconds, for which appends wait. Their ids are
// known all the same, after a restart too.
func TestFlushOfADeletionTouchesNoBlock(t *testing.T) {
	r := newRig(t)
	key := func(i int) turn.Key { return turn.Key{Namespace: "0", Name: fmt.Sprint(i)} }
	const sessions = 50
	for i := range sessions {
		r.apply(1, appendOf(key(i), "id", "x"))
	}
	r.flush()
	r.apply(2, &turn.Erase{Namespace: "0", Limit: turn.EraseStep})
	var flushed FlushStats
	r.m.cfg.OnFlush = func(s FlushStats) { flushed = s }
	r.flush()
	if flushed.Sessions != sessions || flushed.Blocks != 0 {
		t.Errorf("the flush of %d deletions wrote %d sessions and %d blocks", sessions, flushed.Sessions,
			flushed.Blocks)
	}
	r.restart()
	if out := r.apply(3, appendOf(key(7), "id", "x"))[0]; out.Err != nil || !out.Result.Duplicate {
		t.Errorf("a retry of a message that was deleted is answered with %+v, %v", out.Result, out.Err)
	}
	if out := r.apply(3, appendOf(key(7), "id", "other"))[0]; out.Err == nil || out.Err.Kind != turn.IDReused {
		t.Errorf("another message under its id is answered with %+v, %v", out.Result, out.Err)
	}
	r.apply(4+turn.TombstoneTime, &turn.Clear{Key: key(0)})
	r.settle()
	r.expectEmpty(layout.BucketBlocks, layout.BucketGarbage, layout.BucketTombstones)
}

// Long work waits while a flush is running and half of what may gather in that time
// has, and no longer than its context.
func TestCalm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := Open(Config{Dir: t.TempDir(), FlushBytes: 10_000, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = m.Close() }()
		set := func(frozen *memtable.Table, bytes int) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.keys.Tables.Frozen, m.keys.Tables.Active.Bytes = frozen, bytes
			m.room.Broadcast()
		}
		within := func(d time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			defer cancel()
			return m.Calm(ctx)
		}
		set(nil, 20_000)
		if err := within(time.Second); err != nil {
			t.Errorf("with no flush running: %v", err)
		}
		set(memtable.NewTable(), 4_999)
		if err := within(time.Second); err != nil {
			t.Errorf("with little beside a flush: %v", err)
		}
		set(memtable.NewTable(), 5_000)
		if err := within(time.Second); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with much beside a flush: %v", err)
		}
		time.AfterFunc(time.Second, func() { set(nil, 5_000) })
		began := time.Now()
		if err := within(time.Hour); err != nil || time.Since(began) != time.Second {
			t.Errorf("when the flush was over, after %v: %v", time.Since(began), err)
		}
	})
}

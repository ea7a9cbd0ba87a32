package raftstore

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// movedClock stands still until it is moved.
type movedClock struct{ since atomic.Int64 } // 2026, in nanoseconds

func (c *movedClock) Now() time.Time {
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(c.since.Load()))
}

// While a node is sent the state, the log behind it stays, however much is written: a
// receiver that lacked it would have to be sent the state again, and again.
func TestLogStaysWhileASnapshotIsSent(t *testing.T) {
	const tail = 1 << 20
	clock := &movedClock{}
	c := newCluster(t, 1, calm, func(cfg *Config) {
		cfg.Clock = clock
		cfg.Storage.TailBytes, cfg.Storage.CompactBytes = tail, 1<<40
		cfg.Storage.SegmentBytes = tail / 4
	})
	n := c.leader()
	write := func() {
		t.Helper()
		for i := range 40 {
			put(t, n, fmt.Sprint("s", i), strings.Repeat("x", tail/16))
		}
		if err := n.Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	write()
	list, err := n.data.Snapshots.List()
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	meta, stream, err := n.data.Snapshots.Open(list[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	write()
	if first := n.Stats().Log.First; first > meta.Index+1 {
		t.Errorf("while the state as of entry %d is sent, the log begins at %d", meta.Index, first)
	}
	if sent, err := io.Copy(io.Discard, stream); err != nil || sent != meta.Size {
		t.Errorf("sent %d bytes of %d: %v", sent, meta.Size, err)
	}
	if err := stream.Close(); err != nil {
		t.Fatal(err)
	}
	write()
	if first := n.Stats().Log.First; first > meta.Index+1 {
		t.Errorf("right after the state as of entry %d was sent, the log begins at %d", meta.Index, first)
	}
	clock.since.Add(int64(time.Minute))
	write()
	if first := n.Stats().Log.First; first <= meta.Index+1 {
		t.Errorf("long after the state as of entry %d was sent, the log still begins at %d", meta.Index, first)
	}
}

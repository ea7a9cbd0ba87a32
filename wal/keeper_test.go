//go:build linux

package wal_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/turnlog/turnlog/internal/vfs/simdisk"
	"github.com/turnlog/turnlog/wal"
)

// TestOneWriteOneSync counts what a call does to the disk when the next segment is prepared, also at the change of
// segments: one write and one sync.
func TestOneWriteOneSync(t *testing.T) {
	disk := simdisk.New()
	l := simLog(t, disk)
	var ops []simdisk.Op
	disk.Observe(func(op simdisk.Op) { ops = append(ops, op) })
	used := 0
	for range 60 {
		if err := l.Maintain(); err != nil {
			t.Fatal(err)
		}
		next := max(1, l.NextIndex())
		for _, call := range []func() error{
			func() error { return l.Append(records(next, 4, 250)) },
			func() error { return l.TruncateAfter(next + 2) },
		} {
			ops = ops[:0]
			if err := call(); err != nil {
				t.Fatal(err)
			}
			if len(ops) != 2 || ops[0].Kind != simdisk.Write || ops[1].Kind != simdisk.Sync ||
				ops[0].Name != ops[1].Name {
				t.Fatalf("one call did this to the disk: %v", ops)
			}
		}
		used = l.Stats().Segments
	}
	if used < 5 {
		t.Fatalf("the log changed segments only %d times", used)
	}
}

// TestRunPreparesWhenThereIsRoom fills a real disk, if the test may mount one, and gives space back.
func TestRunPreparesWhenThereIsRoom(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("cannot mount a small file system: %v", err)
	}
	defer unix.Unmount(dir, 0)
	l, err := wal.Open(dir+"/wal",
		wal.Options{SegmentBytes: 128 << 10, SpareSegments: -1, MarkInterval: time.Millisecond, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- l.Run(ctx) }()
	for err == nil {
		err = l.Append(records(max(1, l.NextIndex()), 10, 1000))
	}
	if !errors.Is(err, wal.ErrNoSpace) {
		t.Fatal(err)
	}
	before := l.LastIndex()
	for end := time.Now().Add(10 * time.Second); ; { // Run tries again all the time
		files, err := os.ReadDir(dir + "/wal")
		if err == nil && len(files) <= l.Stats().Segments+2 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("what could not be prepared was left behind: %v %v", files, err)
		}
	}
	if err := l.Append(records(before+1, 10, 1000)); !errors.Is(err, wal.ErrNoSpace) {
		t.Fatal(err)
	}
	if err := l.TruncateBefore(before); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(records(before+1, 100, 1000)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

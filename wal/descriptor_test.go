package wal_test

import (
	"errors"
	"syscall"
	"testing"

	"github.com/turnlog/turnlog/internal/vfs/simdisk"
	"github.com/turnlog/turnlog/wal"
)

// Without a file descriptor for the next segment, new or recycled, an append is
// refused and nothing is lost; with one again, it succeeds.
func TestNoDescriptorForTheNextSegment(t *testing.T) {
	disk := simdisk.New()
	l := simLog(t, disk)
	m := model{}
	next := uint64(1)
	fill := func() (err error) {
		for range 100 {
			b := records(next, 1, 1000)
			if err = l.Append(b); err != nil {
				return err
			}
			m = m.append(b)
			next++
		}
		return nil
	}
	for range 3 { // the second time there are spares
		disk.Fail(func(op simdisk.Op) error {
			if op.Kind == simdisk.Create || op.Kind == simdisk.Open {
				return syscall.EMFILE
			}
			return nil
		})
		if err := fill(); !errors.Is(err, wal.ErrNoSpace) || !errors.Is(err, syscall.EMFILE) {
			t.Fatalf("without descriptors: %v", err)
		}
		if d := m.diff(l); d != "" {
			t.Fatalf("a refused append changed the log: %s", d)
		}
		disk.Fail(nil)
		if err := fill(); err != nil {
			t.Fatalf("with descriptors again: %v", err)
		}
		if err := l.TruncateBefore(next - 1); err != nil {
			t.Fatal(err)
		}
		m.records, m.first = m.records[len(m.records)-1:], next-1
	}
}

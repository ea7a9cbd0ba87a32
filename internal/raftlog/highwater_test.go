package raftlog

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/vfs"
	"github.com/turnlog/turnlog/internal/vfs/simdisk"
	"github.com/turnlog/turnlog/wal"
)

func openMark(t *testing.T, disk *simdisk.Disk) *HighWater {
	t.Helper()
	h, err := OpenHighWater(disk, "/data", "me", func(err error) { panic(halted{err}) }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Whatever a power cut leaves of the file, the mark is one that was set, and not older
// than the last one that was synced.
func TestHighWaterOverPowerCuts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	for _, policy := range simdisk.Policies() {
		for steps := range 60 {
			disk := simdisk.New()
			h := openMark(t, disk)
			set := []Position{{}} // since the last sync, which made the first one durable
			for i := range steps {
				p := Position{uint64(i/2 + 1), uint64(i/7 + 1)}
				if i%11 == 10 {
					h.cut(p)
					set = nil
				} else {
					h.Reached(p)
				}
				set = append(set, h.Position())
				if i%5 == 4 {
					if err := h.sync(); err != nil {
						t.Fatal(err)
					}
					set = []Position{h.Position()}
				}
			}
			if got := openMark(t, disk.Crash(policy, rnd)).Position(); !slices.Contains(set, got) {
				t.Fatalf("%v, %d steps: the mark is %v, want one of %v", policy, steps, got, set)
			}
			if got, want := openMark(t, disk.Kill()).Position(), h.Position(); got != want {
				t.Fatalf("%d steps and a kill: the mark is %v, want %v", steps, got, want)
			}
		}
	}
}

func TestHighWaterSurvivesDamage(t *testing.T) {
	marked := func() *simdisk.Disk {
		disk := simdisk.New()
		h := openMark(t, disk)
		for i := range uint64(9) {
			h.Reached(Position{i + 1, 3})
		}
		if err := errors.Join(h.NoteLoss(Loss{Had: Position{12, 3}, Doubt: 5}), h.Close()); err != nil {
			t.Fatal(err)
		}
		return disk
	}
	for offset := range int64(2 * markPage) {
		if offset%markPage >= markBytes {
			continue
		}
		disk := marked()
		if err := disk.Rot("/data/"+MarkName, offset, 0x10); err != nil {
			t.Fatal(err)
		}
		if got := openMark(t, disk).Position(); got != (Position{12, 3}) && got != (Position{9, 3}) {
			t.Fatalf("byte %d flipped: the mark is %v", offset, got)
		}
	}
	disk := marked()
	if l, missing := openMark(t, disk.Kill()).Lost(); !missing || l != (Loss{Had: Position{12, 3}, Doubt: 5}) {
		t.Errorf("after a restart: %v, %v", l, missing)
	}
	if err := disk.Cut("/data/"+MarkName, 20); err != nil {
		t.Fatal(err)
	}
	h := openMark(t, disk)
	if got := h.Position(); got != (Position{}) {
		t.Errorf("a file that is cut off: the mark is %v", got)
	}
	other, err := OpenHighWater(disk, "/data", "other", h.halt, h.log)
	if err != nil || other.Position() != (Position{}) {
		t.Errorf("another node's mark: %v, %v", other.Position(), err)
	}
}

// logOn opens a log with its mark on a disk in memory.
func logOn(t *testing.T, disk *simdisk.Disk) *Store {
	t.Helper()
	l, err := wal.Open("/data/wal",
		wal.Options{SegmentBytes: 64 << 10, FS: disk, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return New(OverWAL(l), Config{
		Mark: openMark(t, disk), Fail: func(error) {}, Halt: func(err error) { panic(halted{err}) },
		Known: func() Known { return Known{} }, Placed: func() {}, Leads: func() bool { return false },
	})
}

func (s *Store) mustEnd(t *testing.T) Position {
	t.Helper()
	p, err := s.End()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A power cut at any operation leaves a log that reaches its mark: a healthy node is
// never taken for one that lost something.
func TestHealthyLogReachesItsMark(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 9))
	work := func(s *Store) {
		for i := range uint64(12) {
			term := i/4 + 1
			if i%4 == 0 && i > 0 {
				_ = s.DeleteRange(3*i-1, 3*i) // the last two
				_ = s.StoreLogs(entries(3*i-1, 3*i, term))
			}
			_ = s.StoreLogs(entries(3*i+1, 3*i+3, term))
		}
	}
	for cut := 1; ; cut++ {
		disk := simdisk.New()
		s := logOn(t, disk)
		done := 0
		disk.Fail(func(op simdisk.Op) error {
			if !op.Changes() {
				return nil
			}
			if done++; done >= cut {
				return syscall.EIO
			}
			return nil
		})
		_, stopped := try(func() error { work(s); return nil })
		for _, policy := range simdisk.Policies() {
			after := logOn(t, disk.Crash(policy, rnd))
			if end, mark := after.mustEnd(t), after.cfg.Mark.Position(); end.Before(mark) {
				t.Fatalf("cut at operation %d, %v: the log ends at %v, its mark is %v", cut, policy, end, mark)
			}
		}
		if !stopped {
			if cut < 50 {
				t.Fatalf("the work has only %d operations", cut)
			}
			return
		}
	}
}

// Rot in the last batch, and in any before it, is not taken for a torn end.
func TestRottenTailIsNotATornOne(t *testing.T) {
	const segment = "/data/wal/00000000000000000001.seg"
	for batches := 1; batches <= 3; batches++ {
		for _, width := range []int{1, 512, 4096} {
			t.Run(fmt.Sprintf("%d batches, %d bytes", batches, width), func(t *testing.T) {
				const batch = 40 + 2*48 // bytes, of two such entries
				for at := int64(4096); at < 4096+int64(batches)*batch; at += 24 {
					disk := simdisk.New()
					s := logOn(t, disk)
					for i := range uint64(batches) {
						if err := s.StoreLogs(entries(2*i+1, 2*i+2, 1)); err != nil {
							t.Fatal(err)
						}
					}
					killed := disk.Kill()
					mask := make([]byte, width)
					for i := range mask {
						mask[i] = 0x55
					}
					if err := killed.Rot(segment, at, mask...); err != nil {
						t.Fatal(err)
					}
					l, err := wal.Open(filepath.Dir(segment),
						wal.Options{SegmentBytes: 64 << 10, FS: killed, Logger: slog.New(slog.DiscardHandler)})
					var corrupt *wal.CorruptError
					if errors.As(err, &corrupt) {
						continue // refused
					}
					if err != nil {
						t.Fatal(err)
					}
					if mark := openMark(t, killed).Position(); l.LastIndex() == uint64(2*batches) ||
						mark != (Position{uint64(2 * batches), 1}) {
						t.Fatalf("rot at %d: the log ends at %d, its mark is %v", at, l.LastIndex(), mark)
					}
				}
			})
		}
	}
}

// On a full disk the mark stays behind, which makes it a lower bound; what it must not be is
// lower than the log is to be cut, or without a loss.
func TestHighWaterOnAFullDisk(t *testing.T) {
	disk := simdisk.New()
	h := openMark(t, disk)
	h.Reached(Position{5, 1})
	full := true
	disk.Fail(func(op simdisk.Op) error {
		if full && op.Changes() {
			return syscall.EDQUOT
		}
		return nil
	})
	for i := range uint64(4) {
		h.Reached(Position{6 + i, 1})
	}
	if got := h.Position(); got != (Position{9, 1}) {
		t.Errorf("the log is durable up to entry 9, the mark is %v", got)
	}
	if got := openMark(t, disk.Kill()).Position(); got != (Position{5, 1}) {
		t.Errorf("the file has %v", got)
	}
	if err := h.NoteLoss(Loss{Had: Position{9, 1}, Doubt: 2}); !errors.Is(err, syscall.EDQUOT) {
		t.Errorf("a loss is noted: %v", err)
	}
	if _, stopped := try(func() error { h.cut(Position{7, 1}); return nil }); !stopped {
		t.Error("a cut is noted")
	}
	full = false
	if err := h.NoteLoss(Loss{Had: Position{9, 1}, Doubt: 2}); err != nil {
		t.Fatal(err)
	}
	if l, missing := openMark(t, disk.Kill()).Lost(); !missing || l != (Loss{Had: Position{9, 1}, Doubt: 2}) {
		t.Errorf("when the disk has room, the file has %v, %v", l, missing)
	}
}

// stuckFile is a file whose disk does not answer.
type stuckFile struct {
	vfs.File
	entered, release chan struct{}
}

func (f stuckFile) WriteAt(b []byte, at int64) (int, error) {
	close(f.entered)
	<-f.release
	return f.File.WriteAt(b, at)
}

// What a handshake tells of the log does not wait for the disk.
func TestHighWaterIsReadWhileItIsWritten(t *testing.T) {
	h := openMark(t, simdisk.New())
	f := stuckFile{h.file, make(chan struct{}), make(chan struct{})}
	h.file = f
	done := make(chan struct{})
	go func() { defer close(done); h.Reached(Position{1, 1}) }()
	<-f.entered
	if got := h.Position(); got != (Position{1, 1}) { // would wait for ever
		t.Errorf("the mark is %v", got)
	}
	close(f.release)
	<-done
}

// How far the log ever went is kept over a cut and a restart, until it goes further. Of a version
// that does not keep it, the mark is all that is known, and a doubt may be due to an older copy.
func TestFurthestMarkIsKept(t *testing.T) {
	disk := simdisk.New()
	h := openMark(t, disk)
	h.Reached(Position{8, 2})
	h.cut(Position{6, 1})
	h.Reached(Position{7, 1})
	for _, d := range []*simdisk.Disk{disk.Kill(), disk.Crash(simdisk.Policies()[0], rand.New(rand.NewPCG(1, 1)))} {
		if got := openMark(t, d); got.Furthest() != (Position{8, 2}) || got.Position().Index > 7 {
			t.Errorf("after a restart the mark is %v, the furthest %v", got.Position(), got.Furthest())
		}
	}
	if err := h.NoteLoss(Loss{Had: Position{7, 1}, Doubt: 2}); err != nil {
		t.Fatal(err)
	}
	if got := openMark(t, disk.Kill()); got.lossLocked() != (Loss{Had: Position{7, 1}, Doubt: 2}) ||
		got.Furthest() != (Position{8, 2}) {
		t.Errorf("after a restart, lost is %+v, the furthest %v", got.lossLocked(), got.Furthest())
	}
	old := disk.Kill() // an older version wrote its bytes of the page
	if err := old.Rot("/data/"+MarkName, int64(h.sequence%2)*markPage+56, 1); err != nil {
		t.Fatal(err)
	}
	if got := openMark(t, old); got.lossLocked() != (Loss{Position{7, 1}, 2, true}) ||
		got.Furthest() != (Position{7, 1}) {
		t.Errorf("of an older version, lost is %+v, the furthest %v", got.lossLocked(), got.Furthest())
	}
	h.Reached(Position{7, 3})
	if got := openMark(t, disk.Kill()); got.Furthest() != (Position{7, 3}) || got.Position() != (Position{7, 3}) {
		t.Errorf("the mark is %v, the furthest %v", got.Position(), got.Furthest())
	}
}

// Terms of others that prolong no doubt cost no sync: a full disk would stop a healthy node.
func TestTermsOfOthersOnAFullDisk(t *testing.T) {
	disk := simdisk.New()
	h := openMark(t, disk)
	h.Reached(Position{8, 2})
	disk.Fail(func(op simdisk.Op) error {
		if op.Kind == simdisk.Sync {
			return syscall.ENOSPC
		}
		return nil
	})
	if err := h.ProlongDoubt(9); err != nil {
		t.Error(err)
	}
	if err := h.NoteLoss(Loss{Doubt: 3, Restored: true}); err == nil {
		t.Error("a doubt that is not on disk is taken for one that is")
	}
}

// A caller that notes a loss that is being noted goes on when it is durable, not before.
func TestLossIsDurableForAll(t *testing.T) {
	disk := simdisk.New()
	h := openMark(t, disk)
	syncing, release := make(chan struct{}, 1), make(chan struct{})
	var durable atomic.Bool
	disk.Fail(func(op simdisk.Op) error {
		if op.Kind == simdisk.Sync && !durable.Load() {
			syncing <- struct{}{}
			<-release
			durable.Store(true)
		}
		return nil
	})
	l := Loss{Doubt: 3, Restored: true}
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { first <- h.NoteLoss(l) }()
	<-syncing
	go func() {
		err := h.NoteLoss(l)
		if !durable.Load() {
			err = errors.New("it returned before the first one was durable")
		}
		second <- err
	}()
	select {
	case err := <-second:
		t.Error(err)
		second <- nil
	case <-time.After(100 * time.Millisecond): // enough for one that does not wait
	}
	close(release)
	for _, done := range []chan error{first, second} {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

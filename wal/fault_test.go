package wal_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/turnlog/turnlog/internal/vfs/simdisk"
	"github.com/turnlog/turnlog/wal"
)

// simLog opens a log of small segments on a simulated disk.
func simLog(t *testing.T, disk *simdisk.Disk) *wal.Log {
	t.Helper()
	l, err := wal.Open(simDir, simOptions(disk))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func simOptions(disk *simdisk.Disk) wal.Options {
	return wal.Options{FS: disk, SegmentBytes: 16 << 10, CacheBytes: -1, Logger: quiet}
}

// record makes a record whose data says its index.
func record(index uint64, size int) wal.Record {
	data := []byte(strings.Repeat(fmt.Sprintf("%d ", index), size))[:size]
	return wal.Record{Index: index, Meta: []byte("meta"), Data: data}
}

// records makes n of them.
func records(from uint64, n, size int) []wal.Record {
	rs := make([]wal.Record, n)
	for i := range rs {
		rs[i] = record(from+uint64(i), size)
	}
	return rs
}

// mustAppend appends the batches one by one.
func mustAppend(t *testing.T, l *wal.Log, batches ...[]wal.Record) {
	t.Helper()
	for _, b := range batches {
		if err := l.Append(b); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFailureIsSticky has each kind of operation fail once, anywhere: the call says so, so does every later one, the
// disk is not touched again, and the log opens in the state before the call or after it, and stays there.
func TestFailureIsSticky(t *testing.T) {
	r := newRand(t)
	stopped := 0
	for round := range 300 {
		disk := simdisk.New()
		l := simLog(t, disk)
		kinds := []simdisk.Kind{simdisk.Write, simdisk.Sync, simdisk.SyncDir, simdisk.Rename, simdisk.Allocate,
			simdisk.Create, simdisk.Remove}
		kind, countdown := kinds[round%len(kinds)], 1+r.IntN(15)
		failed := false
		disk.Fail(func(op simdisk.Op) error {
			if failed && op.Changes() {
				t.Errorf("the log goes on after its failure: %v", op)
			}
			if op.Kind != kind {
				return nil
			}
			if countdown--; countdown != 0 {
				return nil
			}
			failed = true
			if kind == simdisk.Write && r.IntN(2) == 0 {
				return &simdisk.ShortWrite{N: r.IntN(int(op.Length)), Err: syscall.EIO}
			}
			return syscall.EIO
		})
		var m model
		for range 60 {
			s := randomStep(m, r)
			err := s.do(l)
			if err == nil {
				m = s.after
				continue
			}
			checkSticky(t, l, s.name, err)
			stopped++
			disk.Fail(nil)
			c := &crasher{t: t, r: r, opts: simOptions(disk), doing: s.name + " failed", before: m, after: s.after}
			c.examineKilled(disk.Kill(), "restarted")
			c.examine(disk.Crash(simdisk.KeepSubset, r), "power cut")
			break
		}
		if err := l.Close(); err != nil && !failed {
			t.Fatal(err)
		}
	}
	if stopped < 100 {
		t.Fatalf("only %d failures took place", stopped)
	}
}

func checkSticky(t *testing.T, l *wal.Log, name string, err error) {
	t.Helper()
	var failed *wal.FailedError
	if !errors.As(err, &failed) || !errors.Is(err, syscall.EIO) {
		t.Fatalf("%s: %v, which is not a FailedError for EIO", name, err)
	}
	_, getErr := l.Get(l.FirstIndex())
	for what, again := range map[string]error{
		"append":          l.Append([]wal.Record{{Index: max(1, l.NextIndex())}}),
		"empty append":    l.Append(nil),
		"truncate before": l.TruncateBefore(l.NextIndex()),
		"truncate after":  l.TruncateAfter(l.LastIndex()),
		"reset":           l.Reset(5),
		"maintain":        l.Maintain(),
		"run":             l.Run(t.Context()),
		"get":             getErr,
	} {
		if again != err {
			t.Fatalf("%s failed with %v, and then %s with %v", name, err, what, again)
		}
	}
}

// TestReadErrorIsNotDamage has reads fail: the caller learns it, and the log goes on.
func TestReadErrorIsNotDamage(t *testing.T) {
	disk := simdisk.New()
	l := simLog(t, disk)
	mustAppend(t, l, records(1, 3, 100))
	disk.Fail(func(op simdisk.Op) error {
		if op.Kind == simdisk.Read {
			return syscall.EIO
		}
		return nil
	})
	_, err := l.Get(2)
	var corrupt *wal.CorruptError
	if !errors.Is(err, syscall.EIO) || errors.As(err, &corrupt) {
		t.Fatalf("get: %v", err)
	}
	if _, err := wal.Verify(simDir, wal.Options{FS: disk}); !errors.Is(err, syscall.EIO) || errors.As(err, &corrupt) {
		t.Fatalf("verify: %v", err)
	}
	disk.Fail(nil)
	mustAppend(t, l, records(4, 1, 100))
	if _, err := l.Get(2); err != nil {
		t.Fatal(err)
	}
}

// TestFullDisk fills the disk: appends are refused with nothing written, truncation still works, and makes room.
func TestFullDisk(t *testing.T) {
	disk := simdisk.New()
	disk.SetCapacity(100 << 10) // six segments and the manifest
	l := simLog(t, disk)
	var err error
	m := model{}
	for range 1000 {
		b := records(m.next+1, 1, 1000)
		if m.next > 0 {
			b = records(m.next, 1, 1000)
		}
		if err = l.Append(b); err != nil {
			break
		}
		m = m.append(b)
	}
	if !errors.Is(err, wal.ErrNoSpace) {
		t.Fatalf("the disk is full and append says: %v", err)
	}
	for range 3 {
		if err := l.Append(records(m.next, 1, 1000)); !errors.Is(err, wal.ErrNoSpace) {
			t.Fatalf("refused once, and then: %v", err)
		}
		if err := l.Maintain(); !errors.Is(err, wal.ErrNoSpace) {
			t.Fatalf("maintain: %v", err)
		}
	}
	if d := m.diff(l); d != "" {
		t.Fatalf("a refused append changed the log: %s", d)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = simLog(t, disk) // opening takes no space either
	if d := m.diff(l); d != "" {
		t.Fatal(d)
	}
	if err := l.TruncateBefore(m.first + 20); err != nil {
		t.Fatalf("truncation of a full disk: %v", err)
	}
	m = m.truncateBefore(m.first + 20)
	b := records(m.next, 1, 1000)
	mustAppend(t, l, b)
	m = m.append(b)
	big := records(m.next, 1, 80<<10)
	if err := l.Append(big); !errors.Is(err, wal.ErrNoSpace) {
		t.Fatalf("a batch larger than the space left: %v", err)
	}
	if d := m.diff(l); d != "" {
		t.Fatal(d)
	}
	disk.SetCapacity(0)
	mustAppend(t, l, big)
	if d := m.append(big).diff(l); d != "" {
		t.Fatal(d)
	}
}

// TestRoom appends batches on a disk without free space: as long as they fit the room there was, none is refused.
func TestRoom(t *testing.T) {
	r := newRand(t)
	fits := 0
	for range 200 {
		disk := simdisk.New()
		l := simLog(t, disk)
		mustAppend(t, l, records(1, 1+r.IntN(10), 1+r.IntN(3000)))
		if r.IntN(2) == 0 {
			if err := l.Maintain(); err != nil { // prepares a segment
				t.Fatal(err)
			}
		}
		disk.SetCapacity(simdisk.SectorSize)
		for room := l.Room(); ; fits++ {
			b := records(l.NextIndex(), 1+r.IntN(3), 1+r.IntN(3500))
			for _, record := range b {
				room -= int64(len(record.Data)) + 100 // more than its share of heads
			}
			if room < 0 {
				break
			}
			mustAppend(t, l, b)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if fits < 200 {
		t.Errorf("only %d batches were tried", fits)
	}
}

// TestMissingFiles removes, cuts and swaps files: none of that goes unnoticed.
func TestMissingFiles(t *testing.T) {
	segment := func(id int) string { return fmt.Sprintf("%s/%020d.seg", simDir, id) }
	manifest := simDir + "/manifest"
	cases := []struct {
		name string
		do   func(d *simdisk.Disk) error
		file string
	}{
		{"first segment", func(d *simdisk.Disk) error { return d.Delete(segment(1)) }, segment(1)},
		{"middle segment", func(d *simdisk.Disk) error { return d.Delete(segment(2)) }, segment(2)},
		{"tail segment", func(d *simdisk.Disk) error { return d.Delete(segment(3)) }, segment(3)},
		{"prepared segment", func(d *simdisk.Disk) error { return d.Delete(segment(4)) }, segment(4)},
		{"manifest", func(d *simdisk.Disk) error { return d.Delete(manifest) }, manifest},
		{"cut tail", func(d *simdisk.Disk) error { return d.Cut(segment(3), 8000) }, segment(3)},
		{"tail cut beyond its records", func(d *simdisk.Disk) error { return d.Cut(segment(3), 16000) }, segment(3)},
		{"emptied tail", func(d *simdisk.Disk) error { return d.Cut(segment(3), 0) }, segment(3)},
		{"cut manifest", func(d *simdisk.Disk) error { return d.Cut(manifest, 40) }, manifest},
		{"segment under another name", func(d *simdisk.Disk) error { return d.Rename(segment(2), segment(3)) },
			segment(2)},
		{"segments swapped", func(d *simdisk.Disk) error {
			return errors.Join(d.Rename(segment(1), simDir+"/x"), d.Rename(segment(2), segment(1)),
				d.Rename(simDir+"/x", segment(2)))
		}, segment(1)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			disk := simdisk.New()
			l := simLog(t, disk)
			for i := range uint64(18) { // seven of them fill a segment
				mustAppend(t, l, records(i+1, 1, 1000))
			}
			if err := errors.Join(l.Maintain(), l.Close(), c.do(disk)); err != nil {
				t.Fatal(err)
			}
			before, err := disk.List(simDir)
			if err != nil {
				t.Fatal(err)
			}
			_, err = wal.Open(simDir, simOptions(disk))
			var corrupt *wal.CorruptError
			if !errors.As(err, &corrupt) || corrupt.File != c.file {
				t.Fatalf("open: %v; it should name %s", err, c.file)
			}
			if _, err := wal.Verify(simDir, wal.Options{FS: disk}); !errors.As(err, &corrupt) {
				t.Fatalf("verify: %v", err)
			}
			if after, err := disk.List(simDir); err != nil || fmt.Sprint(after) != fmt.Sprint(before) {
				t.Fatalf("open changed the folder from %v to %v (%v)", before, after, err)
			}
		})
	}
}

// TestForeignSegment puts a segment of another log in the place of one.
func TestForeignSegment(t *testing.T) {
	disk := simdisk.New()
	l := simLog(t, disk)
	mustAppend(t, l, records(1, 1, 100))
	other, err := wal.Open("/other", simOptions(disk))
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, other, records(1, 1, 200))
	if err := errors.Join(l.Close(), other.Close()); err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("/%020d.seg", 1)
	copyFile(t, disk, "/other"+name, simDir+name)
	var corrupt *wal.CorruptError
	if _, err = wal.Open(simDir, simOptions(disk)); !errors.As(err, &corrupt) ||
		!strings.Contains(err.Error(), "another log") {
		t.Fatalf("open: %v", err)
	}
}

func copyFile(t *testing.T, disk *simdisk.Disk, from, to string) {
	t.Helper()
	b := readFile(t, disk, from)
	out, err := disk.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := out.WriteAt(b, 0); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, disk *simdisk.Disk, name string) []byte {
	t.Helper()
	f, err := disk.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestLocked opens a log twice.
func TestLocked(t *testing.T) {
	dir := t.TempDir()
	l, err := wal.Open(dir, wal.Options{SegmentBytes: 16 << 10, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wal.Open(dir, wal.Options{SegmentBytes: 16 << 10, Logger: quiet}); !errors.Is(err, wal.ErrLocked) {
		t.Fatalf("second open: %v", err)
	}
	mustAppend(t, l, records(1, 2, 10))
	if _, err := wal.Verify(dir, wal.Options{}); err != nil {
		t.Fatalf("verify beside the open log: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(records(3, 1, 10)); !errors.Is(err, wal.ErrClosed) {
		t.Fatalf("append after close: %v", err)
	}
	if _, err := l.Get(1); !errors.Is(err, wal.ErrClosed) {
		t.Fatalf("get after close: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatalf("second close: %v", err)
	}
}

// TestNoLog verifies a folder that holds none.
func TestNoLog(t *testing.T) {
	if _, err := wal.Verify(t.TempDir(), wal.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("verify: %v", err)
	}
}

// TestLostSync shows that the simulated disk and the model would notice a log that does not sync.
func TestLostSync(t *testing.T) {
	disk := simdisk.New()
	l := simLog(t, disk)
	disk.LieAboutSync(true)
	mustAppend(t, l, records(1, 3, 100))
	after, err := wal.Open(simDir, simOptions(disk.Crash(simdisk.LoseAll, newRand(t))))
	if err != nil {
		t.Fatal(err)
	}
	if after.LastIndex() != 0 {
		t.Fatalf("records up to %d survived a power cut without a sync", after.LastIndex())
	}
}

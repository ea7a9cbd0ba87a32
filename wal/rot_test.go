package wal_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/turnlog/turnlog/internal/vfs/simdisk"
	"github.com/turnlog/turnlog/wal"
)

// TestRotWhileOpen flips bytes behind an open log: Get says so and goes on with the other records.
func TestRotWhileOpen(t *testing.T) {
	disk := simdisk.New()
	l := simLog(t, disk)
	mustAppend(t, l, records(1, 3, 500))
	segment := fmt.Sprintf("%s/%020d.seg", simDir, 1)
	const second = 4096 + 40 + 528 // header, batch head, first record
	if err := disk.Rot(segment, second+100, 0x10); err != nil {
		t.Fatal(err)
	}
	_, err := l.Get(2)
	var corrupt *wal.CorruptError
	if !errors.As(err, &corrupt) || corrupt.Index != 2 || corrupt.File != segment || corrupt.Offset != second {
		t.Fatalf("get: %v", err)
	}
	for _, index := range []uint64{1, 3} {
		if _, err := l.Get(index); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTornTailOrDamage spoils the last batches of a log that was not closed: what may be a torn write is cut, what
// cannot be is refused.
func TestTornTailOrDamage(t *testing.T) {
	const size = 40 + 128 // of each batch: one record of 100 bytes and 4 bytes of meta
	at := func(batch int) int64 { return 4096 + int64(batch)*size }
	cases := []struct {
		name   string
		marked int // batches before the last mark
		rot    int64
		length int
		last   uint64 // 0: refused
	}{
		{"last batch, its data", 0, at(9) + 90, 1, 9},
		{"last batch, its head", 0, at(9) + 9, 1, 9},
		{"last batch, its checksum", 0, at(9), 1, 9},
		{"last batch, its padding", 0, at(9) + size - 1, 1, 9},
		{"last batch, marked", 10, at(9) + 90, 1, 0},
		{"last batch, marked, its head", 10, at(9), 1, 0},
		{"the batch before", 0, at(8) + 90, 1, 0},
		{"the batch before, its head", 0, at(8) + 9, 1, 0},
		{"first batch", 0, at(0) + 90, 1, 0},
		{"last two batches", 0, at(8) + 1, size + 10, 8},
		{"last two batches, one of them marked", 9, at(8) + 1, size + 10, 0},
		{"beyond the last batch", 10, at(10) + 5, 1, 10},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			disk := simdisk.New()
			l := simLog(t, disk)
			for i := range 10 {
				if i > 0 && i == c.marked {
					if err := l.Maintain(); err != nil {
						t.Fatal(err)
					}
				}
				mustAppend(t, l, records(uint64(i+1), 1, 100))
			}
			if c.marked == 10 {
				if err := l.Maintain(); err != nil {
					t.Fatal(err)
				}
			}
			disk = disk.Kill()
			mask := make([]byte, c.length)
			for i := range mask {
				mask[i] = 0x55
			}
			if err := disk.Rot(fmt.Sprintf("%s/%020d.seg", simDir, 1), c.rot, mask...); err != nil {
				t.Fatal(err)
			}
			report, verr := wal.Verify(simDir, wal.Options{FS: disk})
			after, err := wal.Open(simDir, simOptions(disk))
			var corrupt *wal.CorruptError
			if c.last == 0 {
				if !errors.As(err, &corrupt) || !errors.As(verr, &corrupt) || corrupt.Index == 0 {
					t.Fatalf("open: %v; verify: %v", err, verr)
				}
				return
			}
			if err != nil || verr != nil {
				t.Fatalf("open: %v; verify: %v", err, verr)
			}
			if after.LastIndex() != c.last || report.LastIndex != c.last {
				t.Fatalf("open: up to %d, verify: up to %d; it should be %d", after.LastIndex(),
					report.LastIndex, c.last)
			}
			if torn := c.last < 10 || c.name == "beyond the last batch"; after.Stats().TornTail != torn ||
				(report.Torn != nil) != torn {
				t.Fatalf("torn tail: %v, %+v", after.Stats().TornTail, report.Torn)
			}
			mustAppend(t, after, records(c.last+1, 1, 300))
			if _, err := wal.Verify(simDir, wal.Options{FS: disk}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestRecycledSegment fills recycled files only in part: the rest of them holds batches that were valid in the file's
// earlier lives, with the same indexes at the same offsets, and none of them may come back.
func TestRecycledSegment(t *testing.T) {
	disk := simdisk.New()
	l := simLog(t, disk)
	const n = 60 // five segments' worth
	for life := range 6 {
		if err := l.Reset(1); err != nil {
			t.Fatal(err)
		}
		count := n
		if life%2 == 1 {
			count = 3
		}
		for i := range count {
			mustAppend(t, l, records(uint64(i+1), 1, 1000+life))
		}
		var m model
		m = m.append(records(1, count, 1000+life))
		for _, state := range []*simdisk.Disk{disk.Kill(), disk.Crash(simdisk.LoseAll, newRand(t))} {
			after := simLog(t, state)
			if d := m.diff(after); d != "" {
				t.Fatalf("life %d: %s", life, d)
			}
		}
	}
	created := 0
	for i := range 200 {
		next := l.NextIndex()
		mustAppend(t, l, records(next, 1, 1000))
		if err := l.TruncateBefore(max(1, next-min(next, 15))); err != nil {
			t.Fatal(err)
		}
		if i == 60 {
			disk.Observe(func(op simdisk.Op) {
				if op.Kind == simdisk.Create {
					created++
				}
			})
		}
	}
	if created > 0 {
		t.Fatalf("%d files were created although there were old ones to recycle", created)
	}
}

// TestTwiceTorn tears a batch so that its later records survive, and then another one of the same shape at the same
// place so that only its earlier ones do. Together they look whole, but they were not written together.
func TestTwiceTorn(t *testing.T) {
	disk := simdisk.New()
	mustAppend(t, simLog(t, disk), records(1, 1, 100))
	tear := func(fill byte, keep func(sector int) bool) *wal.Log {
		l := simLog(t, disk)
		var torn *simdisk.Disk
		disk.Observe(func(op simdisk.Op) {
			if op.Kind == simdisk.Sync && torn == nil {
				torn = disk.Crash(simdisk.Choose("torn", func(c simdisk.Change) bool { return keep(c.At) }), newRand(t))
			}
		})
		batch := records(2, 3, 2000)
		for i := range batch {
			batch[i].Data[0] = fill
		}
		mustAppend(t, l, batch)
		disk = torn
		return simLog(t, torn.Kill())
	}
	disk = disk.Kill()
	if last := tear('a', func(sector int) bool { return sector >= 4 }).LastIndex(); last != 1 {
		t.Fatalf("the first torn batch survived up to %d", last)
	}
	if last := tear('b', func(sector int) bool { return sector < 5 }).LastIndex(); last != 1 {
		t.Fatalf("two torn batches made a whole one, up to %d", last)
	}
}

// TestManifestOfYesterday puts an old manifest back, as a careless restore or a disk that lied about a sync would. The
// log forgets what came after it, which nothing here can notice; but nothing of that may appear between records that
// are appended now.
func TestManifestOfYesterday(t *testing.T) {
	opts := func(disk *simdisk.Disk) wal.Options {
		o := simOptions(disk)
		o.SpareSegments = 1
		return o
	}
	disk := simdisk.New()
	open := func() *wal.Log {
		l, err := wal.Open(simDir, opts(disk))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := open()
	fill := func(l *wal.Log, upTo uint64) {
		for next := max(1, l.NextIndex()); next <= upTo; next++ {
			mustAppend(t, l, records(next, 1, 4028)) // a batch fills a page, and two of them a segment
		}
	}
	fill(l, 2)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	manifest := readFile(t, disk, simDir+"/manifest")
	l = open()
	fill(l, 6)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	put(t, disk, "manifest", manifest)
	l = open()
	forgotten := l.LastIndex()
	fill(l, forgotten+1)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = open()
	if l.LastIndex() != forgotten+1 {
		t.Fatalf("the log had records up to %d, and has up to %d now", forgotten+1, l.LastIndex())
	}
}

// TestRotOfRandomLogs damages a few places of logs that random calls made: opened, such a log is refused or exactly as
// it was.
func TestRotOfRandomLogs(t *testing.T) {
	r := newRand(t)
	runs := 60
	if *long {
		runs = 3000
	}
	opened, refused := 0, 0
	for range runs {
		disk, m := randomLog(t, r)
		report, err := wal.Verify(simDir, wal.Options{FS: disk})
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			hurt := disk.Kill()
			where := rotSomewhere(t, r, hurt, report.Segments)
			for again := range 2 {
				after, err := wal.Open(simDir, simOptions(hurt))
				if err != nil && again == 0 {
					refused++
					break
				}
				opened++
				if err != nil {
					t.Fatalf("damaged at %s, opened again: %v", where, err)
				}
				if d := m.diff(after); d != "" {
					t.Fatalf("damaged at %s: %s", where, d)
				}
				if err := after.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if t.Logf("%d opened, %d refused", opened, refused); opened == 0 || refused == 0 {
		t.Fatal("the test shows nothing")
	}
}

// randomLog makes a log with random calls and closes it. Of some of them little is live.
func randomLog(t *testing.T, r *rand.Rand) (*simdisk.Disk, model) {
	disk := simdisk.New()
	l := simLog(t, disk)
	var m model
	take := func(s step) {
		if err := s.do(l); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		m = s.after
	}
	for range 20 + r.IntN(60) {
		take(randomStep(m, r))
	}
	if index := m.next - min(m.next-m.first, r.Uint64N(4)); index > 0 && r.IntN(2) == 0 {
		take(step{"truncate before", func(l *wal.Log) error { return l.TruncateBefore(index) },
			m.truncateBefore(index)})
		b := batch(m, r, 3, 300)
		take(step{"append", func(l *wal.Log) error { return l.Append(b) }, m.append(b)})
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return disk, m
}

// rotSomewhere damages up to three places among the batches, and returns where.
func rotSomewhere(t *testing.T, r *rand.Rand, disk *simdisk.Disk, segments []wal.SegmentReport) (where string) {
	for range 1 + r.IntN(3) {
		s := segments[r.IntN(len(segments))]
		mask := make([]byte, 1+r.IntN(60))
		mask[0] = 1 << r.IntN(8)
		mask[len(mask)-1] = 1 << r.IntN(8)
		at := 4096 + r.Int64N(max(1, s.Used-4096-int64(len(mask))))
		where += fmt.Sprintf("%s %d+%d ", s.File, at, len(mask))
		if err := disk.Rot(simDir+"/"+s.File, at, mask...); err != nil {
			t.Fatal(err)
		}
	}
	return where
}

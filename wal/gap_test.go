package wal_test

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/turnlog/turnlog/internal/vfs/simdisk"
	"github.com/turnlog/turnlog/wal"
)

// TestRot flips bytes of the log's files (with -long, every one of them) in turn. Opened, the log is whole or refused;
// it never shows anything else. It is whole if and only if no live record can have been where the byte is.
func TestRot(t *testing.T) {
	for name, build := range map[string]func(t *testing.T, r *rand.Rand) (*simdisk.Disk, model){
		"closed": closedLog, "dropped segments still there": unfreedLog,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRand(t)
			disk, m := build(t, r)
			rotEverywhere(t, r, disk, m)
		})
	}
}

// closedLog makes a log whose oldest segment has dropped batches and live ones.
func closedLog(t *testing.T, r *rand.Rand) (*simdisk.Disk, model) {
	disk := simdisk.New()
	l := simLog(t, disk)
	m := appendBatches(t, l, r, 60)
	if err := errors.Join(l.TruncateBefore(4), l.TruncateAfter(58), l.TruncateBefore(5), l.Close()); err != nil {
		t.Fatal(err)
	}
	return disk, m.truncateBefore(5).truncateAfter(58)
}

// unfreedLog makes a log whose process died when it had dropped records, and not recycled their segments yet.
func unfreedLog(t *testing.T, r *rand.Rand) (*simdisk.Disk, model) {
	disk := simdisk.New()
	l := simLog(t, disk)
	m := appendBatches(t, l, r, 60)
	if err := l.Maintain(); err != nil {
		t.Fatal(err)
	}
	var killed *simdisk.Disk
	disk.Observe(func(op simdisk.Op) {
		if killed == nil && op.Kind == simdisk.Write && strings.Contains(op.Name, "manifest") {
			killed = disk.Kill()
		}
	})
	if err := l.TruncateBefore(50); err != nil {
		t.Fatal(err)
	}
	return killed, m.truncateBefore(50)
}

func appendBatches(t *testing.T, l *wal.Log, r *rand.Rand, upTo uint64) (m model) {
	for m.next < upTo {
		b := records(max(1, m.next), 3, 700+r.IntN(300))
		mustAppend(t, l, b)
		m = m.append(b)
	}
	return m
}

// rotEverywhere flips one bit of each copy of the disk.
func rotEverywhere(t *testing.T, r *rand.Rand, disk *simdisk.Disk, m model) {
	batches, used := batchesOf(t, disk)
	refused, repaired, dropped := 0, 0, 0
	for file, end := range used {
		step := int64(31)
		if *long {
			step = 1
		}
		for offset := r.Int64N(step); offset < end; offset += step {
			hurt := disk.Kill()
			if err := hurt.Rot(simDir+"/"+file, offset, byte(1)<<r.IntN(8)); err != nil {
				t.Fatal(err)
			}
			covered := file != "manifest" && (offset < 52 || offset >= 4096)
			matters := covered && (offset < 52 || !droppedAt(batches, file, offset, m.first))
			report, verr := wal.Verify(simDir, wal.Options{FS: hurt})
			switch after, err := wal.Open(simDir, simOptions(hurt)); {
			case (err == nil) != (verr == nil):
				t.Fatalf("%s byte %d changed: open: %v, verify: %v", file, offset, err, verr)
			case err == nil && lastBatch(batches, file, offset) && after.Stats().TornTail:
				// It may have been torn: it is not known to have been synced.
			case (err == nil) == matters:
				t.Fatalf("%s byte %d changed, and what is live begins at %d: %v", file, offset, m.first, err)
			case err == nil:
				if d := m.diff(after); d != "" {
					t.Fatalf("%s byte %d changed: %s", file, offset, d)
				}
				if covered != (len(report.DroppedDamage) > 0) {
					t.Fatalf("%s byte %d changed: verify tells of %+v", file, offset, report.DroppedDamage)
				}
				repaired++
				dropped += len(report.DroppedDamage)
			default:
				refused++
				mustBeCorrupt(t, err, file, offset)
			}
		}
	}
	if dropped == 0 {
		t.Error("no dropped record was damaged")
	}
	t.Logf("%d refused, %d without consequence, of them %d in dropped records", refused, repaired, dropped)
}

// batchesOf returns the batches of a whole log in order, and up to where each of its files is in use.
func batchesOf(t *testing.T, disk *simdisk.Disk) (batches []wal.Batch, used map[string]int64) {
	t.Helper()
	report, err := wal.Walk(simDir, wal.Options{FS: disk}, func(b wal.Batch) error {
		batches = append(batches, b)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	used = map[string]int64{"manifest": 8192}
	for _, s := range report.Segments {
		used[s.File] = s.Used
	}
	if len(used) < 4 {
		t.Fatalf("too few files for this test: %v", used)
	}
	return batches, used
}

func batchAt(batches []wal.Batch, file string, offset int64) int {
	return slices.IndexFunc(batches, func(b wal.Batch) bool {
		return file == fmt.Sprintf("%020d.seg", b.Segment) && offset >= b.Offset && offset < b.Offset+b.Bytes
	})
}

func lastBatch(batches []wal.Batch, file string, offset int64) bool {
	return batchAt(batches, file, offset) == len(batches)-1
}

// droppedAt tells whether all that is live in a log that begins with first was written by the batches after the one at
// this place.
func droppedAt(batches []wal.Batch, file string, offset int64, first uint64) bool {
	behind := batches[batchAt(batches, file, offset)+1:]
	return slices.ContainsFunc(behind, func(b wal.Batch) bool { return b.Index <= first })
}

func mustBeCorrupt(t *testing.T, err error, file string, offset int64) {
	t.Helper()
	var corrupt *wal.CorruptError
	if !errors.As(err, &corrupt) || errors.Is(err, wal.ErrNewer) {
		t.Fatalf("%s byte %d changed: %v", file, offset, err)
	}
	if corrupt.File != simDir+"/"+file {
		t.Fatalf("%s byte %d changed, and the error names %s: %v", file, offset, corrupt.File, err)
	}
}

// A bit flips in a record that was dropped long ago: the log opens with every live record, says once that there is
// damage, can be used and opened again, and is whole when it has recycled the segment. A bit of a live record is damage
// as ever.
func TestDroppedRecordDamaged(t *testing.T) {
	disk := simdisk.New()
	l := simLog(t, disk)
	for next := uint64(10921); next < 10929; next++ {
		mustAppend(t, l, records(next, 1, 1000))
	}
	if err := errors.Join(l.TruncateBefore(10926), l.Close()); err != nil {
		t.Fatal(err)
	}
	m := model{}.append(records(10921, 8, 1000)).truncateBefore(10926)
	const segment = simDir + "/00000000000000000001.seg"
	second, sixth := int64(4096+1*(40+1032)+300), int64(4096+5*(40+1032)+300)

	live := disk.Kill()
	rot(t, live, segment, sixth)
	rot(t, live, segment, second)
	_, err := wal.Open(simDir, simOptions(live))
	var corrupt *wal.CorruptError
	if !errors.As(err, &corrupt) || corrupt.Index != 10922 {
		t.Fatalf("with a live record damaged: %v", err)
	}
	shown := 0
	report, _ := wal.Walk(simDir, wal.Options{FS: live}, func(wal.Batch) error { shown++; return nil })
	if report.LastIndex != 10921 || shown != 1 {
		t.Fatalf("before the damage there are records up to %d in %d batches", report.LastIndex, shown)
	}

	rot(t, disk, segment, second)
	for range 2 {
		var out strings.Builder
		opts := simOptions(disk)
		opts.Logger = slog.New(slog.NewTextHandler(&out, nil))
		if l, err = wal.Open(simDir, opts); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), "every live record is intact"); n != 1 ||
			strings.Count(out.String(), "level=") != 1 {
			t.Fatalf("open said %d times that dropped records are damaged: %s", n, out.String())
		}
		if d := m.diff(l); d != "" {
			t.Fatal(d)
		}
		b := records(m.next, 1, 500)
		mustAppend(t, l, b)
		m = m.append(b)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	mustReportDropped(t, disk, segment, m)
	l = simLog(t, disk)
	for m.next < 10960 {
		b := records(m.next, 1, 1000)
		mustAppend(t, l, b)
		m = m.append(b)
	}
	m = m.truncateBefore(10950)
	if err := errors.Join(l.TruncateBefore(10950), l.Close()); err != nil {
		t.Fatal(err)
	}
	if report, err := wal.Verify(simDir, wal.Options{FS: disk}); err != nil || len(report.DroppedDamage) > 0 {
		t.Fatalf("the segment was recycled: %+v, %v", report.DroppedDamage, err)
	}
}

// mustReportDropped makes sure that those who look at the log learn of the damage behind the first batch, and see all
// else once.
func mustReportDropped(t *testing.T, disk *simdisk.Disk, segment string, m model) {
	t.Helper()
	report, err := wal.Verify(simDir, wal.Options{FS: disk})
	if err != nil || len(report.DroppedDamage) != 1 || report.LastIndex != m.next-1 || report.FirstIndex != m.first {
		t.Fatalf("verify: %+v, %v", report, err)
	}
	want := wal.DroppedDamage{File: segment, Offset: 4096 + 1*(40+1032) + 40, Reason: report.DroppedDamage[0].Reason,
		UntilFile: segment, UntilOffset: 4096 + 2*(40+1032)}
	if report.DroppedDamage[0] != want {
		t.Fatalf("verify: %+v, and it should be %+v", report.DroppedDamage[0], want)
	}
	var shown []uint64
	if _, err := wal.Walk(simDir, wal.Options{FS: disk}, func(b wal.Batch) error {
		if b.Count > 0 {
			shown = append(shown, b.Index)
		}
		_, err := b.Records()
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if all := []uint64{10921, 10923, 10924, 10925, 10926, 10927, 10928, 10929, 10930}; !slices.Equal(shown, all) {
		t.Fatalf("the records shown are %d, and should be %d", shown, all)
	}
	var out strings.Builder
	if err := wal.Inspect(simDir, wal.Options{FS: disk}, &out, wal.InspectOptions{}); err != nil ||
		!strings.Contains(out.String(), "dropped records are damaged") {
		t.Fatalf("inspect: %v: %s", err, out.String())
	}
}

func rot(t *testing.T, disk *simdisk.Disk, file string, offset int64) {
	t.Helper()
	if err := disk.Rot(file, offset, 4); err != nil {
		t.Fatal(err)
	}
}

// damagedLog makes a log of which a record is damaged that is live.
func damagedLog(t *testing.T) *simdisk.Disk {
	t.Helper()
	disk, m := closedLog(t, newRand(t))
	batches, _ := batchesOf(t, disk)
	i := slices.IndexFunc(batches, func(b wal.Batch) bool { return b.Count > 0 && b.Index >= m.first })
	file := fmt.Sprintf("%s/%020d.seg", simDir, batches[i].Segment)
	if err := disk.Rot(file, batches[i].Offset+batches[i].Bytes-1, 1); err != nil {
		t.Fatal(err)
	}
	return disk
}

// TestDamageThatMattersIsExplained damages a live record: the error says why what was dropped does not make up for it.
func TestDamageThatMattersIsExplained(t *testing.T) {
	_, err := wal.Open(simDir, simOptions(damagedLog(t)))
	var corrupt *wal.CorruptError
	if !errors.As(err, &corrupt) ||
		!strings.Contains(corrupt.Reason, "the log begins at record 5, and what is damaged may reach up to record") {
		t.Errorf("open: %v", err)
	}
}

// TestReadErrorBehindDamage has each read in turn fail while a damaged log is opened: a disk that cannot be read is not
// taken for one that has lost what was on it.
func TestReadErrorBehindDamage(t *testing.T) {
	disk := damagedLog(t)
	for failing := 0; ; failing++ {
		hurt, reads, hit := disk.Kill(), 0, false
		hurt.Fail(func(op simdisk.Op) error {
			if op.Kind != simdisk.Read {
				return nil
			}
			if reads++; reads-1 != failing {
				return nil
			}
			hit = true
			return syscall.EIO
		})
		_, err := wal.Open(simDir, simOptions(hurt))
		var corrupt *wal.CorruptError
		switch {
		case !hit && errors.As(err, &corrupt) && failing > 10:
			return
		case !errors.Is(err, syscall.EIO) || errors.As(err, &corrupt):
			t.Fatalf("read %d of the disk failed, and open: %v", failing, err)
		}
	}
}

package wal_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/internal/vfs/simdisk"
	"github.com/turnlog/turnlog/wal"
)

// TestGrowIsAsked: a log takes two segments as it likes, and more only if it may. Without that an append that does not
// fit is refused, and the log says what it waits for; cut, it goes on with what it has.
func TestGrowIsAsked(t *testing.T) {
	disk := simdisk.New()
	var asked []int64
	may := false
	o := simOptions(disk)
	o.Grow = func(bytes int64) bool { asked = append(asked, bytes); return may }
	l, err := wal.Open(simDir, o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	maintain := func(want error, wanted int64) {
		t.Helper()
		if err := l.Maintain(); !errors.Is(err, want) || l.Wanted() != wanted {
			t.Fatalf("prepared the next segment: %v; %d bytes are waited for, want %d", err, l.Wanted(), wanted)
		}
	}
	fill := func() {
		t.Helper()
		for end := l.NextIndex() + uint64(16*o.SegmentBytes/1000); l.Room() > 2000; {
			if l.NextIndex() > end {
				t.Fatal("the log grows without asking")
			}
			mustAppend(t, l, records(max(1, l.NextIndex()), 1, 1000))
			if err := l.Maintain(); err != nil && !errors.Is(err, wal.ErrNoSpace) {
				t.Fatal(err)
			}
		}
	}
	maintain(nil, 0)
	fill()
	if len(asked) == 0 || asked[0] != o.SegmentBytes {
		t.Fatalf("asked for %d", asked)
	}
	maintain(wal.ErrNoSpace, o.SegmentBytes)
	if err := l.Append(records(l.NextIndex(), 3, 1000)); !errors.Is(err, wal.ErrNoSpace) {
		t.Fatalf("appended to a full log that may not grow: %v", err)
	}
	if err := l.TruncateBefore(l.NextIndex()); err != nil {
		t.Fatal(err)
	}
	maintain(nil, 0)
	fill()
	if got := l.Stats(); got.Segments != 2 || got.Ready != 0 {
		t.Fatalf("a log that may not grow has %d segments, and %d ready", got.Segments, got.Ready)
	}
	if err := l.Append(records(l.NextIndex(), 1, 40<<10)); !errors.Is(err, wal.ErrNoSpace) {
		t.Fatalf("a batch larger than a segment: %v", err)
	}
	may = true
	mustAppend(t, l, records(l.NextIndex(), 1, 40<<10))
	maintain(nil, 0)
}

// TestLargeBatchIsTakenUnasked: a short log takes a batch that is larger than a segment without asking, so that a
// follower can take what the others have; but not one after the other.
func TestLargeBatchIsTakenUnasked(t *testing.T) {
	o := simOptions(simdisk.New())
	o.Grow = func(int64) bool { return false }
	l, err := wal.Open(simDir, o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	large := int(2 * o.SegmentBytes)
	mustAppend(t, l, records(1, 1, 1000))
	for range 3 { // each time it was cut
		mustAppend(t, l, records(l.NextIndex(), 1, large))
		for taken := 1; ; taken++ {
			if err = l.Append(records(l.NextIndex(), 1, large)); err != nil {
				break
			}
			if taken > 3 {
				t.Fatal("the log grows and grows without asking")
			}
		}
		if !errors.Is(err, wal.ErrNoSpace) {
			t.Fatal(err)
		}
		if err := l.TruncateBefore(l.NextIndex()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSpaceIsSaved: a log that is to save space removes its spares, and keeps no new ones, but goes on with a segment
// that it is cut by.
func TestSpaceIsSaved(t *testing.T) {
	disk := simdisk.New()
	o := simOptions(disk)
	may := true
	o.Grow = func(int64) bool { return may }
	l, err := wal.Open(simDir, o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	files := func(when string, spares int) {
		t.Helper()
		names, err := disk.List(simDir)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, name := range names {
			if strings.HasSuffix(name, ".spare") {
				found++
			}
		}
		if found != spares || l.Stats().Ready != 1 {
			t.Errorf("%s: %d spares, want %d, and %d segments ready: %q", when, found, spares, l.Stats().Ready, names)
		}
	}
	cut := func() {
		t.Helper()
		for range 40 {
			mustAppend(t, l, records(max(1, l.NextIndex()), 1, 1000))
			if err := l.Maintain(); err != nil && may {
				t.Fatal(err)
			}
			if !may && l.Room() < 2000 {
				break
			}
		}
		if err := l.TruncateBefore(l.NextIndex()); err != nil {
			t.Fatal(err)
		}
		if err := l.Maintain(); err != nil {
			t.Fatal(err)
		}
	}
	cut()
	files("usually", 2)
	l.SaveSpace(true)
	if err := l.Maintain(); err != nil {
		t.Fatal(err)
	}
	files("told to save space", 0)
	cut()
	files("saving space", 0)
	may = false
	cut()
	files("saving space, and without more", 0)
	may = true
	l.SaveSpace(false)
	cut()
	files("usually again", 2)
}

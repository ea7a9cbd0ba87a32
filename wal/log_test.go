package wal_test

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/turnlog/turnlog/internal/vfs/simdisk"
	"github.com/turnlog/turnlog/wal"
)

// TestReopen reopens the log after each kind of call.
func TestReopen(t *testing.T) {
	dir := t.TempDir()
	opts := wal.Options{SegmentBytes: 16 << 10}
	l, err := wal.Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	for i := uint64(1); i <= 500; i += 5 {
		var b []wal.Record
		for k := range uint64(5) {
			b = append(b, wal.Record{Index: i + k, Meta: []byte("m"),
				Data: bytes.Repeat([]byte{byte(i + k)}, int(i+k))})
		}
		if err := l.Append(b); err != nil {
			t.Fatal(err)
		}
	}
	check := func(first, last uint64) {
		t.Helper()
		if l.FirstIndex() != first || l.LastIndex() != last {
			t.Fatalf("%d %d, want %d %d", l.FirstIndex(), l.LastIndex(), first, last)
		}
		if first == 0 {
			return
		}
		for i := first; i <= last; i++ {
			r, err := l.Get(i)
			if err != nil || r.Index != i || len(r.Data) != int(i) || i > 0 && r.Data[0] != byte(i) {
				t.Fatalf("get %d: %v %v", i, r, err)
			}
		}
	}
	reopen := func() {
		t.Helper()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if l, err = wal.Open(dir, opts); err != nil {
			t.Fatal(err)
		}
	}
	check(1, 500)
	reopen()
	check(1, 500)
	for _, step := range []struct {
		do          func() error
		first, last uint64
	}{
		{func() error { return l.TruncateBefore(101) }, 101, 500},
		{func() error { return l.TruncateAfter(203) }, 101, 203},
		{func() error { return l.Append([]wal.Record{{Index: 204, Data: bytes.Repeat([]byte{204}, 204)}}) }, 101, 204},
		{func() error { return l.TruncateBefore(205) }, 0, 0},
		{func() error { return l.Reset(1000) }, 0, 0},
		{func() error { return l.Append([]wal.Record{{Index: 1000, Data: bytes.Repeat([]byte{232}, 1000)}}) },
			1000, 1000},
		{func() error { return l.Reset(0) }, 0, 0},
		{func() error { return l.Append([]wal.Record{{Index: 7000, Data: bytes.Repeat([]byte{88}, 7000)}}) },
			7000, 7000},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		check(step.first, step.last)
		reopen()
		check(step.first, step.last)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestRefused makes calls that are refused: each has its error, and changes nothing.
func TestRefused(t *testing.T) {
	disk := simdisk.New()
	l := simLog(t, disk)
	if err := l.TruncateBefore(1); !errors.Is(err, wal.ErrOutOfOrder) {
		t.Errorf("truncate before 1 of an empty log: %v", err)
	}
	mustAppend(t, l, records(10, 5, 100))
	m := model{}.append(records(10, 5, 100))
	disk.Observe(func(op simdisk.Op) {
		if op.Changes() {
			t.Errorf("a refused call did this to the disk: %v", op)
		}
	})
	huge := make([]byte, 100<<20)
	tooLarge := make([]wal.Record, 11)
	for i := range tooLarge {
		tooLarge[i] = wal.Record{Index: 15 + uint64(i), Data: huge}
	}
	for name, c := range map[string]struct{ got, want error }{
		"gap":                       {l.Append(records(16, 1, 10)), wal.ErrOutOfOrder},
		"overlap":                   {l.Append(records(14, 1, 10)), wal.ErrOutOfOrder},
		"gap within":                {l.Append([]wal.Record{{Index: 15}, {Index: 17}}), wal.ErrOutOfOrder},
		"index 0":                   {l.Append([]wal.Record{{Index: 0}}), wal.ErrOutOfOrder},
		"too large":                 {l.Append(tooLarge), wal.ErrTooLarge},
		"nothing":                   {l.Append(nil), nil},
		"truncate before, too far":  {l.TruncateBefore(16), wal.ErrOutOfOrder},
		"truncate before, no need":  {l.TruncateBefore(10), nil},
		"truncate after, too early": {l.TruncateAfter(8), wal.ErrOutOfOrder},
		"truncate after, no need":   {l.TruncateAfter(14), nil},
		"truncate after, far away":  {l.TruncateAfter(math.MaxUint64), nil},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: %v, and not %v", name, c.got, c.want)
		}
	}
	if d := m.diff(l); d != "" {
		t.Error(d)
	}
	disk.Observe(nil)
	if err := l.Reset(math.MaxUint64); err != nil {
		t.Fatal(err)
	}
	if err := l.Append([]wal.Record{{Index: math.MaxUint64}}); !errors.Is(err, wal.ErrOutOfOrder) {
		t.Errorf("the highest index: %v", err)
	}
}

// TestOptions refuses what cannot be.
func TestOptions(t *testing.T) {
	for _, opts := range []wal.Options{{SegmentBytes: 4096}, {SegmentBytes: 1<<20 + 1}, {SegmentBytes: 2 << 30},
		{MarkInterval: -1}} {
		if l, err := wal.Open(t.TempDir(), opts); err == nil {
			t.Errorf("%+v is accepted", opts)
			l.Close()
		}
	}
}

package wal_test

import (
	"bytes"
	"testing"

	"github.com/turnlog/turnlog/wal"
)

func TestSmoke(t *testing.T) {
	dir := t.TempDir()
	opts := wal.Options{SegmentBytes: 16 << 10}
	l, err := wal.Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	for i := uint64(1); i <= 500; i += 5 {
		var b []wal.Record
		for k := range uint64(5) {
			b = append(b, wal.Record{Index: i + k, Meta: []byte("m"), Data: bytes.Repeat([]byte{byte(i + k)}, int(i+k))})
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
		{func() error { return l.Append([]wal.Record{{Index: 1000, Data: bytes.Repeat([]byte{232}, 1000)}}) }, 1000, 1000},
		{func() error { return l.Reset(0) }, 0, 0},
		{func() error { return l.Append([]wal.Record{{Index: 7000, Data: bytes.Repeat([]byte{88}, 7000)}}) }, 7000, 7000},
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

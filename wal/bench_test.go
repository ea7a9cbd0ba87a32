package wal_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	raftwal "github.com/hashicorp/raft-wal"

	"github.com/turnlog/turnlog/wal"
)

// BenchmarkAppend compares the time until a batch of 512-byte records is durable, in three log engines, on the disk
// that holds the temporary folder (TMPDIR).
//
//	go test -run '^$' -bench Append -count 6 ./wal
func BenchmarkAppend(b *testing.B) {
	engines := []struct {
		name string
		open func(b *testing.B) func(first uint64, batch [][]byte) error
	}{
		{"turnlog", openOurs},
		{"raft-wal", openRaftWAL},
		{"raft-boltdb", openBolt},
	}
	for _, n := range []int{1, 16, 64, 256} {
		for _, e := range engines {
			b.Run(fmt.Sprintf("batch=%d/%s", n, e.name), func(b *testing.B) {
				store := e.open(b)
				batch := make([][]byte, n)
				for i := range batch {
					batch[i] = make([]byte, 512)
					for j := range batch[i] {
						batch[i][j] = byte(i + j)
					}
				}
				b.SetBytes(int64(n * 512))
				b.ReportAllocs()
				next := uint64(1)
				for b.Loop() {
					if err := store(next, batch); err != nil {
						b.Fatal(err)
					}
					next += uint64(n)
				}
			})
		}
	}
}

func openOurs(b *testing.B) func(uint64, [][]byte) error {
	l, err := wal.Open(b.TempDir(), wal.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
		if err := l.Close(); err != nil {
			b.Error(err)
		}
	})
	// A node that has run for a while recycles its segments. Get there first.
	for range 3 * 64 {
		if err := l.Append([]wal.Record{{Index: max(1, l.NextIndex()), Data: make([]byte, 1<<20)}}); err != nil {
			b.Fatal(err)
		}
	}
	if err := errors.Join(l.Reset(1), l.Maintain()); err != nil {
		b.Fatal(err)
	}
	records := make([]wal.Record, 0, 256)
	meta := make([]byte, 17)
	const keep = 64 << 20 // as a node does: the log is cut behind the last snapshot
	return func(first uint64, batch [][]byte) error {
		records = records[:0]
		for i, data := range batch {
			records = append(records, wal.Record{Index: first + uint64(i), Meta: meta, Data: data})
		}
		if err := l.Append(records); err != nil {
			return err
		}
		if s := l.Stats(); s.Segments > 2 && s.Ready > 0 {
			return l.TruncateBefore(l.IndexForTail(keep))
		}
		return nil
	}
}

func openRaftWAL(b *testing.B) func(uint64, [][]byte) error {
	w, err := raftwal.Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { w.Close() })
	return storeLogs(w)
}

func openBolt(b *testing.B) func(uint64, [][]byte) error {
	s, err := raftboltdb.NewBoltStore(filepath.Join(b.TempDir(), "raft.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return storeLogs(s)
}

func storeLogs(s raft.LogStore) func(uint64, [][]byte) error {
	logs := make([]*raft.Log, 0, 256)
	return func(first uint64, batch [][]byte) error {
		logs = logs[:0]
		for i, data := range batch {
			logs = append(logs, &raft.Log{Index: first + uint64(i), Term: 1, Data: data, AppendedAt: time.Unix(0, 0)})
		}
		return s.StoreLogs(logs)
	}
}

// BenchmarkOpen opens a log of 256 MiB in 512-byte records, all of which are verified.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	opts := wal.Options{Logger: slog.New(slog.DiscardHandler)}
	if err := fillLog(b, dir, opts, 256<<20).Close(); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(256 << 20)
	for b.Loop() {
		l, err := wal.Open(dir, opts)
		if err != nil {
			b.Fatal(err)
		}
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkGet reads 512-byte records one after the other, from the cache and from the (kernel's copy of the) disk.
func BenchmarkGet(b *testing.B) {
	for name, cacheBytes := range map[string]int64{"cache": 64 << 20, "disk": -1} {
		b.Run(name, func(b *testing.B) {
			opts := wal.Options{CacheBytes: cacheBytes, Logger: slog.New(slog.DiscardHandler)}
			l := fillLog(b, b.TempDir(), opts, 16<<20)
			b.ReportAllocs()
			index := l.FirstIndex()
			for b.Loop() {
				if _, err := l.Get(index); err != nil {
					b.Fatal(err)
				}
				if index++; index > l.LastIndex() {
					index = l.FirstIndex()
				}
			}
			if err := l.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// fillLog appends 512-byte records up to so many bytes.
func fillLog(b *testing.B, dir string, opts wal.Options, bytes int) *wal.Log {
	l, err := wal.Open(dir, opts)
	if err != nil {
		b.Fatal(err)
	}
	const batch = 4096
	records := make([]wal.Record, batch)
	for n := 0; n < bytes; n += batch * 512 {
		for i := range records {
			records[i] = wal.Record{Index: uint64(n/512 + i + 1), Data: make([]byte, 512)}
		}
		if err := l.Append(records); err != nil {
			b.Fatal(err)
		}
	}
	return l
}

package wal_test

import (
	"context"
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

// BenchmarkAppend compares the time until a batch of 512-byte records is durable, in three log engines, on the disk that holds the
// temporary folder (TMPDIR).
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
	for _, n := range []int{1, 16, 256} {
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

package fsm

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/keyspace"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// BenchmarkExpire has flushed sessions expire, 256 with each entry; one iteration is
// one session.
func BenchmarkExpire(b *testing.B) {
	m, err := Open(Config{Dir: b.TempDir(), FlushBytes: 1 << 30, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	index := uint64(0)
	for n := 0; n < b.N; n += keyspace.DueChunk {
		cmds := make([]codec.Command, keyspace.DueChunk)
		for i := range cmds {
			op, err := codec.EncodeOp(&turn.Append{
				Key:      turn.Key{Namespace: "0", Name: fmt.Sprintf("session:%06d", n+i)},
				Messages: []turn.NewMessage{{ID: "id", Data: make([]byte, 100)}}, TTL: int64(1 + (n+i)*7919%60_000),
			})
			if err != nil {
				b.Fatal(err)
			}
			cmds[i] = codec.Command{Origin: 1, Number: uint64(n + i + 1), Op: op}
		}
		index++
		m.Apply(index, 1, codec.AppendEntry(nil, 1, cmds))
	}
	if err := m.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	tick := codec.AppendEntry(nil, 100_000, nil)
	for m.NextDue() != 0 {
		index++
		m.Apply(index, 1, tick)
	}
	if err := m.Err(); err != nil {
		b.Fatal(err)
	}
}

package fsm

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// BenchmarkFlush writes what 65,536 appends of 512 bytes have changed, as a node's
// background flush does at about that many; one iteration is one flush. The more
// sessions they go to, the less there is to gather. The store grows from one to the next.
func BenchmarkFlush(b *testing.B) {
	for _, sessions := range []int{1_000, 10_000, 200_000} {
		b.Run(fmt.Sprintf("sessions=%d", sessions), func(b *testing.B) { benchFlush(b, sessions) })
	}
}

func benchFlush(b *testing.B, sessions int) {
	const entries, size = 1024, 64
	m, err := Open(Config{Dir: b.TempDir(), FlushBytes: 1 << 30, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	b.ReportAllocs()
	b.SetBytes(entries * size * 512)
	n := 0
	var spent time.Duration
	for range b.N {
		b.StopTimer()
		for range entries {
			e := flushEntry(b, n, size, sessions)
			n++
			m.Apply(uint64(n), 1, e)
		}
		b.StartTimer()
		begun := time.Now()
		if err := m.Flush(b.Context()); err != nil {
			b.Fatal(err)
		}
		spent += time.Since(begun)
	}
	b.ReportMetric(float64(spent.Microseconds())/float64(n*size), "µs/message")
}

// flushEntry appends to size sessions, one after the other, in an order that is not
// that of their keys.
func flushEntry(b *testing.B, n, size, sessions int) []byte {
	b.Helper()
	cmds := make([]codec.Command, size)
	for j := range cmds {
		i := n*size + j
		op, err := codec.EncodeOp(&turn.Append{
			Key:      turn.Key{Namespace: "0", Name: fmt.Sprintf("session:%06d", i*7919%sessions)},
			Messages: []turn.NewMessage{{Data: make([]byte, 512)}},
		})
		if err != nil {
			b.Fatal(err)
		}
		cmds[j] = codec.Command{Origin: 1, Number: uint64(i + 1), Op: op}
	}
	return codec.AppendEntry(nil, int64(n+1), cmds)
}

package fsm

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// BenchmarkErase deletes 100,000 sessions of five messages by their prefix, a
// thousand to an entry, while the background flush runs; one iteration is a session.
// stall is the longest time that one entry took: others wait as long.
func BenchmarkErase(b *testing.B) {
	const sessions, each = 100_000, 5
	for _, ids := range []bool{false, true} {
		b.Run(map[bool]string{false: "plain", true: "ids"}[ids], func(b *testing.B) {
			var spent, stall time.Duration
			for range (b.N + sessions - 1) / sessions {
				b.StopTimer()
				m := filledWith(b, sessions, each, ids)
				ctx, cancel := context.WithCancel(b.Context())
				var wg sync.WaitGroup
				wg.Go(func() { _ = m.Run(ctx) })
				index, _ := m.Applied()
				b.StartTimer()
				cursor := ""
				for done := false; !done; done = cursor == "" {
					index++
					op, err := codec.EncodeOp(&turn.Erase{Namespace: "0", Cursor: cursor, Limit: 1000})
					if err != nil {
						b.Fatal(err)
					}
					e := codec.AppendEntry(nil, int64(index+1), []codec.Command{{Op: op}})
					begun := time.Now()
					out := m.Apply(index, 1, e)
					took := time.Since(begun)
					spent, stall = spent+took, max(stall, took)
					cursor = out[0].Result.Cursor
				}
				begun := time.Now()
				if err := m.Flush(b.Context()); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(time.Since(begun).Milliseconds()), "last-flush-ms")
				cancel()
				wg.Wait()
				b.StopTimer()
				_ = m.Close()
				b.StartTimer()
			}
			b.ReportMetric(float64(stall.Milliseconds()), "stall-ms")
			b.ReportMetric(float64(spent.Microseconds())/float64(b.N), "µs/session")
		})
	}
}

func filledWith(b *testing.B, sessions, each int, ids bool) *Machine {
	b.Helper()
	m, err := Open(Config{Dir: b.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	const size = 100
	n := 0
	for entry := range sessions * each / size {
		cmds := make([]codec.Command, size)
		for j := range cmds {
			i := entry*size + j
			msg := turn.NewMessage{Data: make([]byte, 512)}
			if ids {
				msg.ID = benchKey(i).Name + string(rune('a'+i%each))
			}
			op, err := codec.EncodeOp(&turn.Append{Key: turn.Key{Namespace: "0",
				Name: fmt.Sprintf("session:%06d", i*7919%sessions)}, Messages: []turn.NewMessage{msg}})
			if err != nil {
				b.Fatal(err)
			}
			cmds[j] = codec.Command{Origin: 1, Number: uint64(i + 1), Op: op}
		}
		n++
		m.Apply(uint64(n), 1, codec.AppendEntry(nil, int64(n+1), cmds))
		if n%500 == 0 {
			if err := m.Flush(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := m.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	return m
}

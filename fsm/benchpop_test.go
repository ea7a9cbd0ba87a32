package fsm

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// BenchmarkPop pushes and pops at the same end a list of some length, all elements but a
// few in one memtable: the time per pop must not grow with the length.
func BenchmarkPop(b *testing.B) {
	for name, side := range map[string]turn.Side{"tail": turn.Tail, "head": turn.Head} {
		for _, n := range []int{5_000, 20_000} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				m, index := benchValues(b), uint64(0)
				do := func(op turn.Op) {
					index++
					if out := m.Apply(index, 1, encodeEntryOf(b, op)); out[0].Err != nil {
						b.Fatal(out[0].Err)
					}
				}
				key := turn.Key{Namespace: "0", Name: "list"}
				push := &turn.Append{Key: key, Side: side}
				for range 1000 {
					push.Messages = append(push.Messages, turn.NewMessage{Data: make([]byte, 20)})
				}
				left := 0
				for b.Loop() {
					if left == 0 {
						b.StopTimer()
						do(&turn.Delete{Keys: []turn.Key{key}})
						for left = 0; left < n; left += len(push.Messages) {
							do(push)
						}
						b.StartTimer()
					}
					do(&turn.Pop{Key: key, From: side, Count: 1, List: true})
					left--
				}
			})
		}
	}
}

func benchValues(b *testing.B) *Machine {
	b.Helper()
	m, err := Open(Config{Dir: b.TempDir(), FlushBytes: 1 << 30, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = m.Close() })
	return m
}

func encodeEntryOf(b *testing.B, op turn.Op) []byte {
	b.Helper()
	o, err := codec.EncodeOp(op)
	if err != nil {
		b.Fatal(err)
	}
	return codec.AppendEntry(nil, 1, []codec.Command{{Op: o}})
}

package fsm

import (
	"testing"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// BenchmarkShortening appends to sessions that keep their last 30 messages, and have as many: in memory, and in
// the store. Without a limit it is BenchmarkApply.
func BenchmarkShortening(b *testing.B) {
	for name, keep := range map[string]turn.Retention{"none": {}, "messages": {Messages: 30}, "turns": {Turns: 30}} {
		for _, from := range []string{"active", "store"} {
			b.Run(name+"/"+from, func(b *testing.B) {
				m := benchMachine(b, 30)
				index := m.keys.Meta.Index
				apply := func(op turn.Op) {
					encoded, err := codec.EncodeOp(op)
					if err != nil {
						b.Fatal(err)
					}
					e := codec.AppendEntry(nil, 1, []codec.Command{{Op: encoded}})
					index++
					b.StartTimer()
					out := m.Apply(index, 1, e)
					b.StopTimer()
					if out[0].Err != nil {
						b.Fatal(out[0].Err)
					}
				}
				b.StopTimer()
				apply(&codec.SetLevel{Level: turn.Level2})
				if keep != (turn.Retention{}) {
					for i := range benchSessions {
						apply(&turn.Retain{Key: benchKey(i), Keep: keep})
					}
				}
				if from == "store" {
					if err := m.Flush(b.Context()); err != nil {
						b.Fatal(err)
					}
					m.keys.Tables.Warm = nil
				}
				b.ReportAllocs()
				b.ResetTimer()
				for i := range b.N {
					apply(&turn.Append{Key: benchKey(i * 7919), Messages: []turn.NewMessage{{Data: make([]byte, 512)}}})
				}
			})
		}
	}
}

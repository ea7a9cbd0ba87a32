package fsm

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// BenchmarkAbsent applies operations that look for what is not there, in a store of 100,000
// sessions and a set of 100,000 members: one at a time.
func BenchmarkAbsent(b *testing.B) {
	set := turn.Key{Namespace: "0", Name: "set"}
	for name, op := range map[string]func(string) turn.Op{
		"append to a new session": func(name string) turn.Op {
			return appendOf(turn.Key{Namespace: "0", Name: name}, name, "hello")
		},
		"remove a member": func(name string) turn.Op {
			return &turn.RemoveFields{Key: set, Type: turn.TypeSet, Names: []string{name}}
		},
	} {
		b.Run(name, func(b *testing.B) {
			m, err := Open(Config{Dir: b.TempDir(), FlushBytes: 1 << 30, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = m.Close() }()
			index := uint64(0)
			entry := func(ops ...turn.Op) []byte {
				var cmds []codec.Command
				for _, op := range ops {
					encoded, err := codec.EncodeOp(op)
					if err != nil {
						b.Fatal(err)
					}
					cmds = append(cmds, codec.Command{Op: encoded})
				}
				index++
				return codec.AppendEntry(nil, int64(index), cmds)
			}
			rnd := rand.New(rand.NewPCG(1, 2))
			for range 100 {
				var ops []turn.Op
				for range 1000 {
					name := fmt.Sprintf("%016x", rnd.Uint64())
					ops = append(ops, appendOf(turn.Key{Namespace: "0", Name: name}, name, "hello"), setOf(set, name))
				}
				e := entry(ops...)
				m.Apply(index, 1, e)
			}
			if err := m.Flush(b.Context()); err != nil {
				b.Fatal(err)
			}
			m.keys.Tables.Warm = nil
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				e := entry(op(fmt.Sprintf("%016x", rnd.Uint64())))
				b.StartTimer()
				m.Apply(index, 1, e)
			}
		})
	}
}

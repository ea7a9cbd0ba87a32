package fsm

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

const benchSessions = 10_000

func benchKey(i int) turn.Key {
	return turn.Key{Namespace: "0", Name: fmt.Sprintf("session:%06d", i%benchSessions)}
}

func benchEntry(b *testing.B, n, size int) []byte {
	b.Helper()
	cmds := make([]codec.Command, size)
	for j := range cmds {
		i := n*size + j
		op, err := codec.EncodeOp(&turn.Append{
			Key:      benchKey(i * 7919),
			Messages: []turn.NewMessage{{ID: fmt.Sprintf("%032d", i), Data: make([]byte, 512)}},
		})
		if err != nil {
			b.Fatal(err)
		}
		cmds[j] = codec.Command{Origin: 1, Number: uint64(i + 1), Op: op}
	}
	return codec.AppendEntry(nil, int64(n+1), cmds)
}

// BenchmarkApply appends 512-byte messages with ids to 10,000 sessions, 64 to an
// entry, while the background flush runs; one iteration is one message. The
// flush's share is in it.
func BenchmarkApply(b *testing.B) {
	m, err := Open(Config{Dir: b.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = m.Run(ctx) })
	const size = 64
	b.ReportAllocs()
	b.SetBytes(512)
	n := 0
	for i := 0; i < b.N; i += size {
		b.StopTimer()
		e := benchEntry(b, n, size)
		b.StartTimer()
		n++
		m.Apply(uint64(n), 1, e)
	}
	if err := m.Flush(ctx); err != nil {
		b.Fatal(err)
	}
	cancel()
	wg.Wait()
	b.StopTimer()
	_ = m.Close()
}

func benchMachine(b *testing.B, perSession int) *Machine {
	b.Helper()
	m, err := Open(Config{Dir: b.TempDir(), FlushBytes: 1 << 30, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = m.Close() })
	for n := range benchSessions * perSession / 64 {
		m.Apply(uint64(n+1), 1, benchEntry(b, n, 64))
	}
	return m
}

// BenchmarkReadLast20 reads the last 20 of 30 messages: before they were flushed,
// after it, when they are in the cache or about a third of them is, and when they
// are only in the store.
func BenchmarkReadLast20(b *testing.B) {
	for _, from := range []string{"active", "warm", "cache", "third", "store"} {
		b.Run(from, func(b *testing.B) {
			m := benchMachine(b, 30)
			if from != "active" {
				if err := m.Flush(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			switch from {
			case "cache":
				m.keys.Tables.Warm = nil
				m.store.SetCache(1 << 30)
			case "third":
				m.keys.Tables.Warm = nil
			case "store":
				m.keys.Tables.Warm = nil
				m.store.SetCache(0)
			}
			b.ReportAllocs()
			rnd := rand.New(rand.NewPCG(1, 2))
			for b.Loop() {
				if _, err := m.Query(&turn.Read{Key: benchKey(rnd.IntN(benchSessions)), Limit: 20}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkApplyValues applies one operation at a time to 10,000 keys.
func BenchmarkApplyValues(b *testing.B) {
	for name, op := range map[string]func(turn.Key, int) turn.Op{
		"incr": func(k turn.Key, _ int) turn.Op { return &turn.AddInt{Key: k, Delta: 1} },
		"set":  func(k turn.Key, _ int) turn.Op { return &turn.SetString{Key: k, Value: make([]byte, 512)} },
		"hset": func(k turn.Key, i int) turn.Op {
			return &turn.SetFields{Key: k, Type: turn.TypeHash,
				Fields: []turn.Field{{Name: fmt.Sprint(i % 20), Value: make([]byte, 100)}}}
		},
		"zadd": func(k turn.Key, i int) turn.Op {
			return &turn.SetScores{Key: k, Members: []turn.Score{{Member: fmt.Sprint(i % 20), Score: float64(i)}}}
		},
		"xadd": func(k turn.Key, _ int) turn.Op {
			return &turn.AddEntry{Key: k, Make: turn.IDMade,
				Fields: []turn.Field{{Name: "data", Value: make([]byte, 512)}}}
		},
	} {
		b.Run(name, func(b *testing.B) {
			m, err := Open(Config{Dir: b.TempDir(), FlushBytes: 1 << 30, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = m.Close() }()
			b.ReportAllocs()
			for i := 0; i < b.N; i++ {
				b.StopTimer()
				encoded, err := codec.EncodeOp(op(benchKey(i*7919), i/benchSessions))
				if err != nil {
					b.Fatal(err)
				}
				e := codec.AppendEntry(nil, int64(i+1), []codec.Command{{Op: encoded}})
				b.StartTimer()
				m.Apply(uint64(i+1), 1, e)
			}
		})
	}
}

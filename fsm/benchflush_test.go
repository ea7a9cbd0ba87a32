package fsm

import (
	"log/slog"
	"testing"
	"time"
)

// BenchmarkFlush writes what 65,536 appends of 512 bytes to 10,000 sessions have
// changed, as a node's background flush does at about that many; one iteration is
// one flush. The store grows from one to the next.
func BenchmarkFlush(b *testing.B) {
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
			e := benchEntry(b, n, size)
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

package fsm

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// BenchmarkCollector appends as BenchmarkApply does, 64 messages an iteration, with the heap limit and the
// sizes of a node with the default budget, when its caches are full. It tells what the garbage
// collector takes: memory that a cache is given is memory that it does without.
func BenchmarkCollector(b *testing.B) {
	const mib = 1 << 20
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(384 * mib))
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	for _, cache := range []int{0, 16, 64, 128} {
		b.Run(fmt.Sprintf("cache=%dMiB", cache), func(b *testing.B) {
			m, err := Open(Config{Dir: b.TempDir(), FlushBytes: 48 * mib, CacheBytes: max(cache*mib, 1),
				Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				b.Fatal(err)
			}
			ctx, cancel := context.WithCancel(b.Context())
			var wg sync.WaitGroup
			wg.Go(func() { _ = m.Run(ctx) })
			n := 0
			apply := func() {
				m.Apply(uint64(n+1), 1, benchEntry(b, n, 64))
				n++
			}
			for range benchSessions * 30 / 64 {
				apply()
			}
			if err := m.Flush(ctx); err != nil {
				b.Fatal(err)
			}
			rnd := rand.New(rand.NewPCG(1, 2))
			for range 5 * benchSessions {
				if _, err := m.Query(&turn.Read{Key: benchKey(rnd.IntN(benchSessions)), Limit: 20}); err != nil {
					b.Fatal(err)
				}
			}
			collecting, working := processorTime()
			for b.Loop() {
				apply()
			}
			c, w := processorTime()
			b.ReportMetric((c-collecting)/float64(64*b.N)*1e6, "collector-us/msg")
			b.ReportMetric((w-working)/float64(64*b.N)*1e6, "rest-us/msg")
			cancel()
			wg.Wait()
			_ = m.Close()
		})
	}
}

// processorTime is what the collector and the rest of the process have taken, in seconds
// as Go estimates them.
func processorTime() (collecting, working float64) {
	s := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/user:cpu-seconds"}}
	metrics.Read(s)
	return s[0].Value.Float64(), s[1].Value.Float64()
}

package turnlog_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/turnlog/turnlog"
	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/turn"
)

// How long a node takes to be ready: with an empty directory, and with the data of a run before.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	for _, again := range []bool{false, true} {
		b.Run(fmt.Sprintf("again=%v", again), func(b *testing.B) {
			for i := range b.N {
				name := "again"
				if !again {
					name = fmt.Sprint(b.N, "-", i)
				}
				db, err := turnlog.Open(filepath.Join(dir, name))
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := db.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}

// The same node reached within the process and over TCP, by one caller and by 64.
func BenchmarkCalls(b *testing.B) {
	db, err := turnlog.OpenCluster(turnlog.Config{Dir: b.TempDir(), Servers: turnlog.Servers{RESPAddr: "127.0.0.1:0"}})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	tcp, err := client.New(client.Config{Addrs: []string{db.RESPAddr()}})
	if err != nil {
		b.Fatal(err)
	}
	defer tcp.Close()
	data := make([]byte, 512)
	calls := map[string]func(context.Context, client.Session) error{
		"append": func(ctx context.Context, s client.Session) error {
			_, err := s.Append(ctx, turn.NewMessage{Data: data})
			return err
		},
		"last20": func(ctx context.Context, s client.Session) error {
			_, err := s.Last(ctx, 20)
			return err
		},
	}
	for _, name := range []string{"append", "last20"} {
		for _, callers := range []int{1, 64} {
			for way, c := range map[string]*client.Client{"process": db.Client, "tcp": tcp} {
				b.Run(fmt.Sprintf("%s/%d/%s", name, callers, way), func(b *testing.B) {
					inLoop(b, callers, func(g int) error { return calls[name](b.Context(), c.Session(fmt.Sprint(g))) })
				})
			}
		}
	}
}

// inLoop calls f b.N times from n goroutines.
func inLoop(b *testing.B, n int, f func(g int) error) {
	for g := range n {
		if err := f(g); err != nil && !turn.Is(err, turn.NotFound) {
			b.Fatal(err)
		}
	}
	var left atomic.Int64
	left.Store(int64(b.N))
	var group sync.WaitGroup
	b.ResetTimer()
	for g := range n {
		group.Go(func() {
			for left.Add(-1) >= 0 {
				if err := f(g); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

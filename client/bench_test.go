package client

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/turnlog/turnlog/client/turnlogtest"
	"github.com/turnlog/turnlog/turn"
)

// benchmark runs op in a closed loop in each of n goroutines, against a node in
// this process.
func benchmark(b *testing.B, n int, op func(ctx context.Context, c *Client, g int) error) {
	c, err := New(Config{Addrs: []string{turnlogtest.Start(b).Addr()}})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	for g := range n {
		for range 20 {
			if _, err := c.Session(fmt.Sprint(g)).Append(b.Context(),
				turn.NewMessage{Data: make([]byte, 512)}); err != nil {
				b.Fatal(err)
			}
		}
	}
	var left atomic.Int64
	left.Store(int64(b.N))
	var group sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for g := range n {
		group.Go(func() {
			for left.Add(-1) >= 0 {
				if err := op(b.Context(), c, g); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	b.StopTimer()
}

func BenchmarkAppend(b *testing.B) {
	data := make([]byte, 512)
	for _, n := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			benchmark(b, n, func(ctx context.Context, c *Client, g int) error {
				_, err := c.Session(fmt.Sprint(g)).Append(ctx, turn.NewMessage{Data: data})
				return err
			})
		})
	}
}

func BenchmarkLast20(b *testing.B) {
	for _, n := range []int{1, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			benchmark(b, n, func(ctx context.Context, c *Client, g int) error {
				_, err := c.Session(fmt.Sprint(g)).Last(ctx, 20)
				return err
			})
		})
	}
}

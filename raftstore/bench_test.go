package raftstore

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// BenchmarkAppend measures appends of 512 bytes to 10,000 sessions through three
// nodes in this process, over loopback, every one fsynced on a majority.
func BenchmarkAppend(b *testing.B) {
	for _, via := range []string{"leader", "follower"} {
		for _, clients := range []int{1, 16, 64, 256} {
			for _, depth := range []int{1, 2, 4} {
				b.Run(fmt.Sprintf("via=%s/clients=%d/depth=%d", via, clients, depth), func(b *testing.B) {
					benchAppend(b, via, clients, depth)
				})
			}
		}
	}
}

func benchAppend(b *testing.B, via string, clients, depth int) {
	c := benchCluster(b, func(cfg *Config) { cfg.Calls.Depth = depth })
	n := c.leader()
	if via == "follower" {
		n = c.follower()
	}
	data := strings.Repeat("x", 512)
	var next atomic.Int64
	b.ResetTimer()
	c.parallel(clients, func() bool {
		i := next.Add(1)
		if i > int64(b.N) {
			return false
		}
		if _, err := n.Apply(b.Context(), appendOp(fmt.Sprint("s", i%10_000), data)); err != nil {
			b.Error(err)
			return false
		}
		return true
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
	if s := c.leader().Stats(); s.Proposed.Entries > 0 {
		b.ReportMetric(float64(s.Proposed.Commands)/float64(s.Proposed.Entries), "commands/entry")
	}
}

// BenchmarkRead measures linearizable reads of a session's last 20 messages.
func BenchmarkRead(b *testing.B) {
	for _, via := range []string{"leader", "follower"} {
		for _, clients := range []int{1, 64} {
			b.Run(fmt.Sprintf("via=%s/clients=%d", via, clients), func(b *testing.B) {
				c := benchCluster(b)
				n := c.leader()
				for range 20 {
					if _, err := n.Apply(b.Context(), appendOp("s", strings.Repeat("x", 512))); err != nil {
						b.Fatal(err)
					}
				}
				if via == "follower" {
					n = c.follower()
				}
				var next atomic.Int64
				b.ResetTimer()
				c.parallel(clients, func() bool {
					if next.Add(1) > int64(b.N) {
						return false
					}
					r, err := n.Query(b.Context(), &turn.Read{Key: key("s"), Limit: 20}, turn.Consistency{})
					if err != nil || len(r.Messages) != 20 {
						b.Errorf("%d messages, %v", len(r.Messages), err)
						return false
					}
					return true
				})
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
			})
		}
	}
}

func benchCluster(b *testing.B, options ...func(*Config)) *cluster {
	c := newCluster(b, 3, append(options, func(cfg *Config) {
		cfg.Consensus = Consensus{}
		cfg.Storage.SegmentBytes = 64 << 20
	})...)
	c.ready()
	return c
}

// BenchmarkVet is what the leader pays for each operation that another node forwards.
func BenchmarkVet(b *testing.B) {
	op, err := codec.EncodeOp(&turn.Append{Key: key("session:12345"),
		Messages: []turn.NewMessage{{ID: "0123456789abcdef", Data: make([]byte, 512)}}})
	if err != nil {
		b.Fatal(err)
	}
	l, commands := anyLevel(), []codec.Command{{Op: op}}
	b.ReportAllocs()
	for b.Loop() {
		if v, f := l.Vet(commands); f != nil || len(v.Refused) > 0 {
			b.Fatal(f, v.Refused)
		}
	}
}

package alerts

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
	"github.com/turnlog/turnlog/cluster-test/disk"
	"github.com/turnlog/turnlog/internal/testcluster"
)

// startFaulty runs a cluster whose disks or clocks can be made to fail, and a Prometheus that scrapes it.
func startFaulty(t *testing.T, cfg cluster.Config) (*cluster.Cluster, *prometheus) {
	t.Helper()
	require(t, "prometheus")
	cfg.Dir = memory(t)
	if cfg.Binary == "" {
		cfg.Binary = os.Getenv("TURNLOG_BINARY")
	}
	if cfg.Binary == "" {
		cfg.Binary = filepath.Join(cfg.Dir, "turnlog")
		build(t, cfg.Binary, "dev")
	}
	c, err := cluster.New(cfg)
	if err != nil && cfg.Disks {
		t.Skipf("NOT TESTED: alerts of disks. This test mounts a disk of its own, and may not: %v", err)
	}
	must(t, err)
	t.Cleanup(c.Close)
	must(t, c.Start(t.Context()))
	var addrs []string
	for _, n := range c.Nodes {
		addrs = append(addrs, n.HTTPAddr)
	}
	p := startPrometheus(t, "http", addrs...)
	p.within("all are scraped", func() bool { return p.up() == len(c.Nodes) })
	p.firesOnly()
	return c, p
}

// follower returns a node that does not lead, and the others.
func follower(t *testing.T, c *cluster.Cluster) (chosen *cluster.Node, others []*cluster.Node) {
	t.Helper()
	leader, err := c.WaitLeader(t.Context(), nil)
	must(t, err)
	for _, n := range c.Nodes {
		if chosen == nil && n != leader {
			chosen = n
		} else {
			others = append(others, n)
		}
	}
	return chosen, others
}

// appendsTo appends a message to a session of n after the other, until the test ends.
func appendsTo(t *testing.T, n *testcluster.Node) {
	var done sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	done.Go(func() {
		for ctx.Err() == nil {
			_ = n.Call(ctx, "POST", "/v1/sessions/s/messages",
				map[string]any{"messages": []map[string]any{{"data": 1}}}, nil)
		}
	})
	t.Cleanup(func() { stop(); done.Wait() })
}

// A disk on which each sync takes a quarter of a second, until it is well again.
func TestSlowDisk(t *testing.T) {
	c, p := startFaulty(t, cluster.Config{Nodes: 3, Disks: true})
	slow, others := follower(t, c)
	appendsTo(t, others[0].Node)
	slow.Disk.Set(disk.Faults{SyncDelay: 250 * time.Millisecond})
	p.firesOnly("TurnlogSlowDisk")
	slow.Disk.Set(disk.Faults{})
	p.firesOnly()
}

// A disk that stalls once on a cluster that has little to do is no slow disk.
func TestOneStall(t *testing.T) {
	c, p := startFaulty(t, cluster.Config{Nodes: 1, Disks: true})
	n := c.Nodes[0]
	appends := func(count int) {
		for range count {
			must(t, n.Call(t.Context(), "POST", "/v1/sessions/s/messages",
				map[string]any{"messages": []map[string]any{{"data": 1}}}, nil))
		}
	}
	appends(5)
	n.Disk.Set(disk.Faults{SyncDelay: 500 * time.Millisecond})
	appends(2)
	n.Disk.Set(disk.Faults{})
	appends(5)
	slow := `histogram_quantile(0.99, sum(rate(turnlog_log_append_duration_seconds_bucket[15s])) by (le)) > 0.1`
	p.within("Prometheus has seen the stall", func() bool { return p.finds(slow) == 1 })
	p.within("the stall is over", func() bool { return p.up() == 1 && p.finds(slow) == 0 })
	if p.finds(`count_over_time(ALERTS{alertname="TurnlogSlowDisk"}[1m])`) != 0 {
		t.Error("TurnlogSlowDisk fired because of one stall")
	}
}

// A follower whose disk hangs for longer than it may be behind, while the others go on.
func TestBehind(t *testing.T) {
	c, p := startFaulty(t, cluster.Config{Nodes: 3, Disks: true})
	hung, others := follower(t, c)
	appendsTo(t, others[0].Node)
	hung.Disk.Set(disk.Faults{SyncDelay: 45 * time.Second})
	p.fires("TurnlogBehind")
	hung.Disk.Set(disk.Faults{})
	p.resolves("TurnlogBehind")
	must(t, hung.Died())
}

// A state that is damaged while no other node can send its own, and then is repaired.
func TestDamageWithoutHelp(t *testing.T) {
	c, p := startFaulty(t, cluster.Config{Nodes: 3})
	damaged, others := follower(t, c)
	must(t, damaged.Kill())
	file := filepath.Join(damaged.Dir, "state.db")
	b, err := os.ReadFile(file)
	must(t, err)
	for i := range b {
		b[i] ^= 0x20
	}
	must(t, os.WriteFile(file, b, 0o600))
	for _, n := range others {
		must(t, n.Pause())
	}
	must(t, damaged.Start())
	p.fires("TurnlogStateDamaged")
	for _, n := range others {
		must(t, n.Resume())
	}
	p.fires("TurnlogStateRepaired")
	p.resolves("TurnlogStateDamaged", "TurnlogDown", "TurnlogNoLeader")
}

// A node whose machine has the wrong time, until it is set.
func TestWrongClock(t *testing.T) {
	require(t, "prometheus")
	binary, err := cluster.Build(t.Context(), cluster.BuildOptions{Dir: t.TempDir(), Clock: true})
	must(t, err)
	c, p := startFaulty(t, cluster.Config{Binary: binary, Nodes: 3, Clocks: true})
	wrong, _ := follower(t, c)
	must(t, wrong.SetClock(-10*time.Second, 0))
	p.firesOnly("TurnlogClockWrong")
	must(t, wrong.SetClock(0, 0))
	p.firesOnly()
}

// More connections that write than the node has room for, since its disk is slow.
func TestOverload(t *testing.T) {
	c, p := startFaulty(t, cluster.Config{Nodes: 1, Disks: true})
	n := c.Nodes[0]
	n.Disk.Set(disk.Faults{SyncDelay: time.Second})
	ctx, stop := context.WithCancel(t.Context())
	var done sync.WaitGroup
	t.Cleanup(func() { stop(); done.Wait() })
	for range 120 {
		done.Go(func() { writeLarge(ctx, n.RESPAddr) })
	}
	p.fires("TurnlogOverloaded")
	stop()
	n.Disk.Set(disk.Faults{})
	p.resolves("TurnlogOverloaded")
}

// writeLarge sets a value of a megabyte again and again, on one connection.
func writeLarge(ctx context.Context, addr string) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	defer conn.Close()
	value := bytes.Repeat([]byte("x"), 1<<20)
	reply := make([]byte, 4096)
	for ctx.Err() == nil {
		if _, err := fmt.Fprintf(conn, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%d\r\n%s\r\n", len(value), value); err != nil {
			return
		}
		if _, err := conn.Read(reply); err != nil {
			return
		}
	}
}

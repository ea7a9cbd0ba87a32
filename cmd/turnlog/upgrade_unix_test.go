//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/internal/testcluster"
	"github.com/turnlog/turnlog/turn"
)

// Under writers, every node gets another version, the leader last, and no call fails.
func TestUpgradeOfALoadedCluster(t *testing.T) {
	t.Parallel()
	c, err := testcluster.New(testcluster.Config{Binary: binary, Dir: t.TempDir(), Nodes: 3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	const to = "0.0.0-test.2"
	newer := otherVersion(t, to)
	one := shell{t, c.Nodes[0].RESPAddr} // that knows the others' addresses

	one.fails(cli.ExitFailed, "0 nodes upgraded in this run", "cluster", "upgrade", "--to", to, "--exec", "exit 7")
	if got := one.ok("cluster", "upgrade"); !strings.HasPrefix(got,
		"nothing to do: all 3 nodes run version "+testVersion+" already") {
		t.Errorf("where there is nothing to do: %q", got)
	}

	stop := loadOf(t, c.Nodes)
	leader := c.Leader(t.Context())
	turns := filepath.Join(t.TempDir(), "turns")
	if err := syscall.Mkfifo(turns, 0o600); err != nil {
		t.Fatal(err)
	}
	var order []string
	var operator sync.WaitGroup
	operator.Go(func() {
		for range c.Nodes {
			id, err := os.ReadFile(turns) // waits for upgrade's command
			if err != nil {
				t.Error(err)
				return
			}
			order = append(order, strings.TrimSpace(string(id)))
			last := order[len(order)-1]
			node := c.Nodes[slices.IndexFunc(c.Nodes, func(n *testcluster.Node) bool { return n.ID == last })]
			if err := node.Stop(time.Minute); err != nil {
				t.Error(err)
			}
			node.Use(newer)
			if err := node.Start(); err != nil {
				t.Error(err)
			}
		}
	})
	got := one.ok("cluster", "upgrade", "--to", to, "--exec", "echo $TURNLOG_NODE > "+turns)
	operator.Wait()
	if got != "3 nodes upgraded: all 3 run version "+to+"\n" {
		t.Errorf("it says %q", got)
	}
	if len(order) != 3 || order[2] != leader.ID {
		t.Errorf("upgraded in order %q, with %s as leader", order, leader.ID)
	}
	stop()
}

// otherVersion returns a program that differs from the one under test only in the version that it says.
func otherVersion(t *testing.T, version string) string {
	t.Helper()
	program, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	if len(version) != len(testVersion) || !bytes.Contains(program, []byte(testVersion)) {
		t.Fatalf("version %s cannot be written over %s", version, testVersion)
	}
	name := filepath.Join(t.TempDir(), "turnlog")
	if err := os.WriteFile(name, bytes.ReplaceAll(program, []byte(testVersion), []byte(version)), 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

// loadOf has writers append until stop is called, which holds that no call failed and that each message is
// there once.
func loadOf(t *testing.T, nodes []*testcluster.Node) (stop func()) {
	t.Helper()
	var addrs []string
	for _, n := range nodes {
		addrs = append(addrs, n.RESPAddr)
	}
	c, err := client.New(client.Config{Addrs: addrs})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	var counts [4]atomic.Uint64
	for w := range counts {
		writers.Go(func() {
			for ctx.Err() == nil {
				if _, err := c.Session(fmt.Sprint("writer", w)).Append(t.Context(),
					turn.NewMessage{Data: []byte("one more")}); err != nil {
					t.Errorf("a writer's append: %v", err)
					return
				}
				counts[w].Add(1)
			}
		})
	}
	return func() {
		t.Helper()
		cancel()
		writers.Wait()
		defer c.Close()
		for w := range counts {
			info, err := c.Session(fmt.Sprint("writer", w)).Info(t.Context())
			if want := counts[w].Load(); err != nil || info.Count != want || want == 0 {
				t.Errorf("writer %d: %d messages, %v; %d were acknowledged", w, info.Count, err, want)
			}
		}
	}
}

package raftstore

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/group"
	"github.com/turnlog/turnlog/internal/raftlog"
)

// Learners elect no leader, though the state records them as members: a node that is the only
// voter left has no other node to send it the rest.
func TestDamagedLogBesideLearnersIsRefused(t *testing.T) {
	c := newCluster(t, 3)
	c.ready()
	c.recordedAll()
	for i := range 60 { // so that the damage comes before the removals
		put(t, c.leader(), "s", fmt.Sprintf("%d %01000d", i, 0))
	}
	c.leaveAlone("n1")
	n1 := c.leader()
	for _, id := range []string{"n4", "n5"} {
		c.addrs[id] = freeAddr(t)
		c.start(id, func(cfg *Config) { cfg.Join = true })
		added := n1.raft.Load().AddNonvoter(raft.ServerID(id), raft.ServerAddress(c.addrs[id]), 0, hang)
		if err := group.Await(t.Context(), added); err != nil {
			t.Fatal(err)
		}
	}
	c.recordedAll()
	put(t, n1, "s", "after")
	c.killAll()
	dir := filepath.Join(c.dir, "n1")
	rotLog(t, dir)
	n, err := Open(c.config("n1"))
	if err == nil {
		defer n.Close()
		t.Fatalf("it opens, and waits for those of %v", n.data.LastServers())
	}
	if !strings.Contains(err.Error(), "of 1 voters, as far as is known, 0 are other nodes") {
		t.Errorf("it does not open: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, raftlog.DamagedName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the log was put aside: %v", err)
	}
}

// leaveAlone removes all members but one.
func (c *cluster) leaveAlone(last string) {
	c.t.Helper()
	for _, id := range slices.Sorted(maps.Keys(c.addrs)) {
		if id == last {
			continue
		}
		c.change(func(leader *running) error { return leader.members.RemoveNode(c.t.Context(), id) })
		if err := c.ended(c.nodes[id]); !errors.Is(err, ErrRemoved) {
			c.t.Fatalf("the removed node ends with: %v", err)
		}
		delete(c.addrs, id)
	}
	c.recordedAll()
}

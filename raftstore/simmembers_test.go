package raftstore

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/turnlog/turnlog/internal/vfs/simdisk"
	"github.com/turnlog/turnlog/turn"
)

// replaceMember has a node removed, amid whatever else happens. What undoes it adds the node
// again, with an empty directory, if it was removed.
func (c *simCluster) replaceMember(id string) (undo func()) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	for _, n := range c.running() {
		if n.id != id {
			_ = n.members.RemoveNode(ctx, id) // it may fail, and its outcome may be unknown
			break
		}
	}
	return func() {
		c.net.heal()
		c.revive()
		for _, n := range c.running() {
			n.slow.set(0) // by another fault: of two voters, one with a slow log keeps no leader
		}
		c.rejoin(id)
	}
}

// rejoin makes a node a voter again if it is not one. No removal of before takes effect later:
// the leader has committed something in its term since.
func (c *simCluster) rejoin(id string) {
	c.t.Helper()
	empty := false
	c.within(time.Minute, id+" is a member", func() bool {
		n := c.leader()
		if n == nil {
			return false
		}
		if !empty && n.id != id && !n.hasMember(id) {
			c.wipe(id)
			empty = true
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if n.id != id {
			_ = n.members.AddNode(ctx, id, id)
		}
		return c.isVoter(id)
	})
	if empty {
		c.replaced++
	}
}

// isVoter reports whether a leader that has just confirmed that it leads counts on the node.
func (c *simCluster) isVoter(id string) bool {
	n := c.leader()
	if n == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if _, err := n.Query(ctx, &turn.Info{Key: turn.Key{Namespace: "0", Name: "none"}},
		turn.Consistency{}); err != nil && turn.KindOf(err) != turn.NotFound {
		return false
	}
	s, found := n.raft.Configuration().Find(id)
	return found && s.Voter
}

// hasMember reports whether the configuration has a node.
func (n *simNode) hasMember(id string) bool {
	_, found := n.raft.Configuration().Find(id)
	return found
}

// wipe starts a node with an empty directory.
func (c *simCluster) wipe(id string) {
	c.t.Helper()
	c.crash(id)
	if err := os.RemoveAll(filepath.Join(c.dir, id)); err != nil {
		c.t.Fatal(err)
	}
	c.disks[id] = simdisk.New()
	cfg := c.config(id)
	cfg.InitialCluster, cfg.Join = nil, true
	c.startWith(cfg)
}

package raftstore

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/turn"
)

// recordedAll waits until every node knows every member's incarnation.
func (c *cluster) recordedAll() {
	c.t.Helper()
	eventuallyTrue(c.t, "all members are recorded everywhere, durably", func() bool {
		for _, r := range c.nodes {
			if len(r.data.State.Members()) != len(c.addrs) || r.data.Identity.Get().ClusterID == "" {
				return false
			}
		}
		return true
	})
	for id, r := range c.nodes { // the nodes do so by themselves, a little later
		if err := r.data.State.Flush(c.t.Context()); err != nil {
			c.t.Fatalf("%s: %v", id, err)
		}
	}
}

// change has the leader change the membership, and holds the outcome to a kind of error,
// or none. On a busy machine another node may come to lead meanwhile: then it is asked.
func (c *cluster) change(ask func(leader *running) error, want ...turn.Kind) {
	c.t.Helper()
	again := false
	eventuallyTrue(c.t, "a leader makes or refuses the change", func() bool {
		err := ask(c.leader())
		is := func(kinds ...turn.Kind) bool {
			return slices.ContainsFunc(kinds, func(k turn.Kind) bool { return turn.Is(err, k) })
		}
		switch {
		case is(want...), len(want) == 0 && (err == nil || again && is(turn.Exists, turn.NotFound)):
			return true
		case !is(turn.Unavailable, turn.Unknown):
			c.t.Fatalf("the change ended with: %v", err)
		}
		again = true
		return false
	})
}

func (c *cluster) wipe(id string) {
	if err := os.RemoveAll(filepath.Join(c.dir, id)); err != nil {
		c.t.Fatal(err)
	}
}

// ended waits for Run to end by itself and returns why.
func (c *cluster) ended(r *running) error {
	c.t.Helper()
	select {
	case <-r.done:
		delete(c.nodes, r.id)
		return r.err
	case <-time.After(hang):
		c.t.Fatalf("%s goes on", r.id)
		return nil
	}
}

func TestWipedNodeIsRefused(t *testing.T) {
	c := newCluster(t, 3)
	c.leader()
	c.recordedAll()
	f := c.follower()
	c.kill(f.id)
	c.wipe(f.id)
	err := c.ended(c.start(f.id))
	if err == nil || !strings.Contains(err.Error(), "remove the member "+f.id) {
		t.Fatalf("a wiped node ends with: %v", err)
	}
	put(t, c.leader(), "s", "x")

	// The way back: remove, add again.
	c.wipe(f.id)
	c.change(func(leader *running) error { return leader.members.RemoveNode(t.Context(), f.id) })
	eventuallyTrue(t, "all nodes have heard of it", func() bool {
		for _, r := range c.nodes {
			if len(r.data.State.Members()) != 2 {
				return false
			}
		}
		return true
	})
	back := c.start(f.id)
	c.change(func(leader *running) error { return leader.members.AddNode(t.Context(), f.id, c.addrs[f.id]) })
	put(t, back, "s", "y")
	eventuallyTrue(t, "it is ready", func() bool { ok, _ := back.Ready(); return ok })
	c.sameState()
}

// A wiped node that starts while it can reach no other node is rejected as soon as
// it can, and has no vote until then.
func TestWipedNodeThatStartsAloneIsRefused(t *testing.T) {
	c := newCluster(t, 3)
	c.leader()
	c.recordedAll()
	for _, id := range ids(3) {
		c.kill(id)
	}
	c.wipe("n3")
	wiped := c.start("n3")
	eventuallyTrue(t, "it has bootstrapped", func() bool { return wiped.raft.Load() != nil })
	c.start("n1")
	if err := c.ended(wiped); err == nil || !strings.Contains(err.Error(), "remove the member") {
		t.Fatalf("it ends with: %v", err)
	}
	if term, _ := c.nodes["n1"].lead.Serves(); term != 0 {
		t.Fatal("n1 leads by the vote of a node that lost its memory")
	}
	c.start("n2")
	put(t, c.leader(), "s", "x")
}

func TestAddAndRemove(t *testing.T) {
	c := newCluster(t, 1)
	n1 := c.leader()
	for range 30 {
		put(t, n1, "s", "x")
	}
	if err := n1.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for _, id := range []string{"n2", "n3"} {
		addr := freeAddr(t)
		add := func(leader *running) error { return leader.members.AddNode(ctx, id, addr) }
		c.change(add, turn.Unavailable) // it does not run
		c.addrs[id] = addr
		r := c.start(id, func(cfg *Config) { cfg.Join = true })
		if ok, _ := r.Ready(); ok {
			t.Fatal("ready without being a member")
		}
		c.change(add)
		c.change(add, turn.Exists)
		eventuallyTrue(t, id+" is ready", func() bool { ok, _ := r.Ready(); return ok })
	}
	c.sameState()
	c.change(func(leader *running) error { return leader.members.AddNode(ctx, "n9", c.addrs["n2"]) }, turn.Invalid)
	c.change(func(*running) error { return c.nodes["n2"].members.RemoveNode(ctx, "n9") }, turn.NotFound)
	// The leader itself goes.
	leader, follower := c.pair()
	c.change(func(*running) error { return follower.members.RemoveNode(ctx, leader.id) })
	if err := c.ended(leader); !errors.Is(err, ErrRemoved) {
		t.Fatalf("the removed node ends with: %v", err)
	}
	put(t, c.leader(), "s", "y")
	if got := texts(t, c.leader(), "s", turn.Linearizable); len(got) != 31 {
		t.Fatalf("%d messages", len(got))
	}
}

func TestTransferLeadership(t *testing.T) {
	c := newCluster(t, 3)
	old := c.leader()
	c.ready()
	writes := startWriters(t, "w", 4, func(i, _ int) *running { return c.nodes[ids(3)[i%3]] })
	eventuallyTrue(t, "leadership is handed over", func() bool { return old.TransferLeadership(t.Context()) == nil })
	if term, _ := old.lead.Serves(); term != 0 {
		t.Fatal("it still leads")
	}
	if err := old.TransferLeadership(t.Context()); turn.KindOf(err) != turn.Unavailable {
		t.Fatalf("a follower hands over: %v", err)
	}
	put(t, old, "s", "x")
	if _, unsure, failed := writes.end(); unsure+failed > 0 {
		t.Fatal("a transfer of leadership was noticed by a caller")
	}
	writes.check(old)
}

func TestForeignDirectories(t *testing.T) {
	c := newCluster(t, 1)
	put(t, c.leader(), "s", "x")
	c.recordedAll()
	c.stop("n1")
	cfg := c.config("n1")
	cfg.NodeID, cfg.InitialCluster = "n2", nil
	if _, err := Open(cfg); err == nil || !strings.Contains(err.Error(), "belongs to node n1") {
		t.Fatalf("another node's directory: %v", err)
	}
	cfg = c.config("n1")
	cfg.Log.Engine = "boltdb"
	if _, err := Open(cfg); err == nil || !strings.Contains(err.Error(), "engine wal") {
		t.Fatalf("another engine's directory: %v", err)
	}
	running := c.start("n1")
	if _, err := Open(c.config("n1")); err == nil {
		t.Fatal("a directory that is in use is opened again")
	}
	put(t, running, "s", "y")
}

// A log that lost its end, though what it said was applied, is not gone on with.
func TestLostLogIsNoticed(t *testing.T) {
	c := newCluster(t, 1)
	put(t, c.leader(), "s", "x")
	c.recordedAll()
	c.stop("n1")
	log := filepath.Join(c.dir, "n1", raftlog.WALName)
	if err := errors.Join(os.RemoveAll(log), os.Mkdir(log, 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := c.ended(c.start("n1")); err == nil || !strings.Contains(err.Error(), "the log has lost entries up to") {
		t.Fatalf("without what is in the folder: %v", err)
	}
	if err := os.RemoveAll(log); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(c.config("n1")); err == nil || !strings.Contains(err.Error(), raftlog.WALName+" is missing") {
		t.Fatalf("without the folder: %v", err)
	}
}

package raftstore

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/turn"
)

// A learner is killed when its log has its removal, and its state, which was not flushed, does not even have that it
// was added. It learns of the removal when it starts again.
func TestRemovedLearnerWithoutRecordsStops(t *testing.T) {
	c := newCluster(t, 3)
	c.ready()
	joins := func(cfg *Config) { cfg.Join = true }
	c.addrs["n4"] = freeAddr(t)
	c.start("n4", joins)
	c.stop("n4")
	state := filepath.Join(c.dir, "n4", "state.db")
	empty, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	n4 := c.start("n4", joins)
	c.change(func(leader *running) error { return leader.members.AddLearner(t.Context(), "n4", c.addrs["n4"]) })
	eventuallyTrue(t, "it knows the cluster", func() bool { return n4.data.Identity.Get().ClusterID != "" })
	c.kill("n4")
	c.change(func(leader *running) error { return leader.members.RemoveNode(t.Context(), "n4") })
	n := c.open("n4") // a leader sends the removal, if it can
	end := n.data.Mark.Position()
	if err := n.data.Log.StoreLog(&raft.Log{Index: end.Index + 1, Term: end.Term, Type: raft.LogConfiguration,
		Data: raft.EncodeConfiguration(c.leader().raft.Latest())}); err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(state, empty, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 { // the others apply more than the log of n4 has
		put(t, c.leader(), "s", "x")
	}
	n4 = c.start("n4", joins)
	if err := c.ended(n4); !errors.Is(err, ErrRemoved) {
		t.Fatalf("it ends with: %v", err)
	}
}

// A node that was removed is not added again with the directory that it has: it could hear from nodes that lag that it
// is no member, and stop.
func TestRemovedNodeIsNotAddedAgainWithItsDirectory(t *testing.T) {
	c := newCluster(t, 3)
	c.ready()
	c.addrs["n4"] = freeAddr(t)
	joins := func(cfg *Config) { cfg.Join = true }
	add := func(leader *running) error { return leader.members.AddLearner(t.Context(), "n4", c.addrs["n4"]) }
	n4 := c.start("n4", joins)
	c.change(add)
	eventuallyTrue(t, "it knows itself", func() bool { return n4.data.Recorded("n4") != "" })
	if err := n4.data.State.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.change(func(leader *running) error { return leader.members.RemoveNode(t.Context(), "n4") })
	if err := c.ended(n4); !errors.Is(err, ErrRemoved) {
		t.Fatal(err)
	}
	alone := c.open("n4", joins, func(cfg *Config) { cfg.Peers.Dial = cutOff }) // nothing tells it
	n4 = c.run(alone)
	err := error(nil)
	eventuallyTrue(t, "it is rejected for its directory", func() bool {
		err = add(c.leader())
		return turn.KindOf(err) == turn.Invalid
	})
	if !strings.Contains(err.Error(), "empty data directory") {
		t.Error(err)
	}
	c.kill("n4")
	c.wipe("n4")
	c.start("n4", joins)
	c.change(add)
	c.hasRole("n4", false)
}

// cutOff reaches no node.
func cutOff(context.Context, string) (net.Conn, error) { return nil, errors.New("cut off") }

package raftstore

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/requests"
	"github.com/turnlog/turnlog/turn"
)

func unaware(cfg *Config) { cfg.unaware = true }

func holdsLevel0(cfg *Config) {
	level := turn.Level0
	cfg.HoldLevel = &level
}

// atLevel waits until all nodes are at a level.
func (c *cluster) atLevel(want turn.ClusterLevel) {
	c.t.Helper()
	eventuallyTrue(c.t, "all nodes are at the level", func() bool {
		for _, r := range c.nodes {
			if r.Level() != want {
				return false
			}
		}
		return true
	})
}

// stays has the leader look for a level to go to, and sees that it finds none; why
// says what the cluster's status gives as the reason.
func (c *cluster) keepsLevel(want turn.ClusterLevel, why string) {
	c.t.Helper()
	r := c.leader()
	eventuallyTrue(c.t, "the status says why the level stays: "+why, func() bool {
		cl, err := r.Cluster(c.t.Context())
		return r.Level() != want || err == nil && strings.Contains(strings.Join(cl.LevelWaitsFor(), "; "), why)
	})
	r.levels.Raise(c.t.Context(), r.writes.proposeIn(nil))
	if got := r.Level(); got != want {
		c.t.Errorf("the level is %d, want %d: %s", got, want, why)
	}
}

// A new cluster goes to the newest level by itself, and an embedded node too; a
// restart keeps it.
func TestNewClusterIsAtTheNewestLevel(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		t.Run("", func(t *testing.T) {
			c := newCluster(t, nodes)
			c.leader()
			c.atLevel(turn.NewestLevel)
			cl, err := c.leader().Cluster(t.Context())
			if err != nil || cl.Level != turn.NewestLevel || cl.Nodes[0].Level != turn.NewestLevel ||
				cl.LevelWaitsFor() != nil {
				t.Errorf("the cluster is described as %+v, %v", cl, err)
			}
			for _, r := range c.nodes {
				if err := r.data.State.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			c.killAll()
			for _, id := range ids(nodes) {
				if r := c.start(id); r.Level() != turn.NewestLevel {
					t.Errorf("%s is at level %d after a restart", id, r.Level())
				}
			}
		})
	}
}

// The level rises when the last member runs a version that knows more, and not while
// a member cannot be asked, or holds it.
func TestLevelWaitsForAllMembers(t *testing.T) {
	c := reserve(t, 3)
	c.start("n1", unaware)
	c.start("n2")
	c.start("n3")
	c.recordedAll()
	c.keepsLevel(turn.Level0, "n1 runs a version that knows levels up to 0")
	c.stop("n1")
	c.keepsLevel(turn.Level0, "n1 cannot be reached")
	c.start("n1", holdsLevel0)
	c.keepsLevel(turn.Level0, "n1 holds it at level 0")
	c.stop("n1")
	c.start("n1")
	c.atLevel(turn.NewestLevel)
	c.sameState()
}

// A leader that holds the level does not raise it, whatever the others know.
func TestLeaderHoldsTheLevel(t *testing.T) {
	c := newCluster(t, 1, holdsLevel0)
	c.keepsLevel(turn.Level0, "n1 holds it at level 0")
}

// startGated starts a cluster of one node whose level cannot rise before open is
// called.
func (c *cluster) startGated() (n1 *running, open func()) {
	c.t.Helper()
	n := c.open("n1")
	if !n.levels.Joining.Enter(c.t.Context()) {
		c.t.Fatal("the gate is closed")
	}
	n1 = c.run(n)
	c.leader()
	return n1, n.levels.Joining.Leave
}

// A learner will vote: it counts.
func TestLevelWaitsForLearners(t *testing.T) {
	c := reserve(t, 1)
	n1, open := c.startGated()
	c.addrs["n2"] = freeAddr(t)
	r := c.start("n2", unaware, func(cfg *Config) { cfg.Join = true })
	if err := n1.raft.Load().AddNonvoter("n2", raft.ServerAddress(c.addrs["n2"]), 0,
		10*time.Second).Error(); err != nil {
		t.Fatal(err)
	}
	eventuallyTrue(t, "n2 is a learner", func() bool { return r.status().Role == "learner" })
	open()
	c.keepsLevel(turn.Level0, "n2 runs a version that knows levels up to 0")
	c.stop("n2")
	c.start("n2", func(cfg *Config) { cfg.Join = true })
	c.atLevel(turn.NewestLevel)
}

// Who does not know the cluster's level can neither join nor come back; both sides
// say why.
func TestNodeBelowTheLevelIsRefused(t *testing.T) {
	c := newCluster(t, 3)
	c.recordedAll()
	c.atLevel(turn.NewestLevel)
	addr := freeAddr(t)
	c.addrs["n4"] = addr
	joining := c.start("n4", unaware, func(cfg *Config) { cfg.Join = true })
	eventuallyTrue(t, "a node below the level is refused", func() bool {
		err := c.leader().members.AddNode(t.Context(), "n4", addr)
		if err == nil {
			t.Fatal("a node below the level joins")
		}
		return turn.Is(err, turn.Unavailable) &&
			strings.Contains(err.Error(), "run the version of the other nodes there")
	})
	select {
	case <-joining.done:
		t.Errorf("who waits to join ends: %v", joining.err)
	default:
	}
	c.kill("n4")
	delete(c.addrs, "n4")
	down := c.follower().id
	c.stop(down)
	if err := c.ended(c.start(down, unaware)); err == nil ||
		!strings.Contains(err.Error(), fmt.Sprintf("the cluster is at level %d", turn.NewestLevel)) {
		t.Errorf("a member that went back to an older version ends with: %v", err)
	}
	put(t, c.start(down), "s", "x")
}

// A node that is found fit to join does so before the level rises, or not.
func TestNoNodeJoinsWhileTheLevelRises(t *testing.T) {
	c := reserve(t, 1)
	n1, open := c.startGated()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	n1.levels.Raise(ctx, n1.writes.proposeIn(nil))
	if err := n1.members.Make(ctx, requests.Change{Kind: requests.Add, ID: "n2", Addr: "127.0.0.1:1"}); err == nil ||
		!strings.Contains(err.Error(), "level") {
		t.Errorf("a node joins beside another: %v", err)
	}
	if n1.Level() != turn.Level0 {
		t.Error("the level rises while a node joins")
	}
	open()
	c.atLevel(turn.NewestLevel)
}

// The level does not rise before each member is recorded: see recordedOnlyVoter in datadir.
func TestLevelWaitsForRecords(t *testing.T) {
	c := reserve(t, 1)
	n1, open := c.startGated()
	c.recordedAll()
	if _, err := n1.writes.propose(t.Context(), n1.writes.proposer.Current(),
		&codec.Member{ID: "n1", Remove: true}); err != nil {
		t.Fatal(err)
	}
	open()
	n1.levels.Raise(t.Context(), n1.writes.proposeIn(n1.writes.proposer.Current()))
	if n1.Level() > turn.Level0 && n1.data.Recorded("n1") == "" { // the leader may have recorded it meanwhile
		t.Error("the level has risen, and the member is not recorded")
	}
	c.atLevel(turn.NewestLevel)
}

// Operations by which only a leader changes the cluster cannot be submitted.
func TestInternalOperationsAreNotSubmitted(t *testing.T) {
	c := newCluster(t, 1, holdsLevel0)
	n1 := c.leader()
	for _, op := range []turn.Op{
		&codec.Tick{}, &codec.Epoch{}, &codec.Member{ID: "n1", Remove: true}, &codec.SetLevel{Level: turn.NewestLevel},
		&turn.Tx{Steps: []turn.Step{{Op: &codec.SetLevel{Level: turn.NewestLevel}}}},
		&turn.Tx{Steps: []turn.Step{{Op: &codec.Checksum{}}}},
	} {
		if _, err := n1.Apply(t.Context(), op); turn.KindOf(err) != turn.Invalid {
			t.Errorf("%T: %v", op, err)
		}
	}
	if n1.Level() != turn.Level0 {
		t.Error("a client raised the level")
	}
}

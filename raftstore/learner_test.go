package raftstore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/requests"
	"github.com/turnlog/turnlog/turn"
)

// hasRole waits until a leader counts the node as a voter or a learner, the node itself agrees, and all have
// recorded it.
func (c *cluster) hasRole(id string, voter bool) {
	c.t.Helper()
	eventuallyTrue(c.t, id+" has got its role", func() bool {
		s, found := c.leader().raft.Configuration().Find(id)
		if !found || s.Voter != voter {
			return false
		}
		if r := c.nodes[id]; r != nil && (r.status().Role == "learner") == voter {
			return false
		}
		for _, r := range c.nodes {
			for _, m := range r.data.State.Members() {
				if m.ID == id && m.Learner == voter {
					return false
				}
			}
		}
		return true
	})
}

// A learner that was added by hand serves, and stays a learner through restarts and changes of leader, until it is
// promoted.
func TestLearnerStaysOneUntilItIsPromoted(t *testing.T) {
	c := newCluster(t, 3)
	c.leader()
	c.ready()
	put(t, c.leader(), "s", "before")
	ctx := t.Context()
	c.addrs["n4"] = freeAddr(t)
	r := c.start("n4", func(cfg *Config) { cfg.Join = true })
	add := func(leader *running) error { return leader.members.AddLearner(ctx, "n4", c.addrs["n4"]) }
	c.change(add)
	c.hasRole("n4", false)
	c.change(add, turn.Exists)
	c.change(func(leader *running) error { return leader.members.AddLearner(ctx, "n9", c.addrs["n4"]) }, turn.Invalid)
	c.change(func(leader *running) error {
		return leader.members.AddLearner(ctx, c.follower().id, freeAddr(t))
	}, turn.Invalid)
	eventuallyTrue(t, "the learner is ready", func() bool { ok, _ := r.Ready(); return ok })
	put(t, r, "s", "by the learner")
	if got := texts(t, r, "s", turn.Linearizable); len(got) != 2 {
		t.Fatalf("the learner reads %v", got)
	}

	c.kill("n4")
	put(t, c.leader(), "s", "without it")
	r = c.start("n4")
	c.kill(c.leader().id)
	put(t, r, "s", "with another leader")
	c.hasRole("n4", false)
	for _, id := range ids(3) {
		if c.nodes[id] == nil {
			c.start(id)
		}
	}
	c.ready()
	c.hasRole("n4", false)

	c.change(func(leader *running) error { return r.members.Promote(ctx, "n4") })
	c.hasRole("n4", true)
	c.change(func(leader *running) error { return leader.members.Promote(ctx, "n4") }, turn.Exists)
	c.change(func(leader *running) error { return leader.members.Promote(ctx, "n9") }, turn.NotFound)
	c.sameState()
}

// A leader that is demoted hands over first, serves on as a learner, and is not elected again when it is the only
// one that could be.
func TestDemotedLeaderIsALearner(t *testing.T) {
	c := newCluster(t, 3)
	c.leader()
	c.ready()
	ctx := t.Context()
	leader, other := c.pair()
	eventuallyTrue(t, "demotion is possible", func() bool { return leader.data.State.Level() >= turn.Level2 })
	demoted := leader.id
	c.change(func(*running) error { return other.members.Demote(ctx, demoted) })
	c.hasRole(demoted, false)
	c.change(func(now *running) error { return now.members.Demote(ctx, demoted) }, turn.Exists)
	c.change(func(now *running) error { return now.members.Demote(ctx, "n9") }, turn.NotFound)
	put(t, leader, "s", "x")

	second := c.leader()
	c.kill(second.id)
	if _, found := c.nodes[demoted].raft.Configuration().Find(second.id); !found {
		t.Fatal("the killed node is no member")
	}
	short, cancel := context.WithTimeout(ctx, 2*time.Second) // eight election timeouts
	defer cancel()
	if _, err := leader.Apply(short, appendOp("s", "y")); err == nil {
		t.Fatal("a write is committed by one voter of two, with a learner")
	}
	c.start(second.id)
	c.ready()
	c.change(func(now *running) error { return now.members.Promote(ctx, demoted) })
	c.hasRole(demoted, true)
	c.sameState()
}

// A voter is not demoted if the voters that remain and can be reached are no majority; and the last one never is.
func TestDemotionThatLeavesNoQuorumIsRefused(t *testing.T) {
	c := newCluster(t, 3, func(cfg *Config) { cfg.Calls.LeaderWait = 3 * time.Second })
	c.ready()
	leader, follower := c.pair()
	eventuallyTrue(t, "demotion is possible", func() bool { return leader.data.State.Level() >= turn.Level2 })
	down := "n1"
	for leader.id == down || follower.id == down {
		down = map[string]string{"n1": "n2", "n2": "n3"}[down]
	}
	c.kill(down)
	eventuallyTrue(t, "the demotion is refused", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), hang/2)
		defer cancel()
		err := c.leader().members.Demote(ctx, follower.id)
		if !turn.Is(err, turn.Unavailable) {
			t.Fatalf("the demotion ended with: %v", err)
		}
		return strings.Contains(err.Error(), "reachable and up to date") // else the leader changed
	})
	c.change(func(leader *running) error { return leader.members.Demote(t.Context(), down) })
	c.hasRole(down, false)
	c.change(func(leader *running) error { return leader.members.Demote(t.Context(), follower.id) })
	c.change(func(leader *running) error { return leader.members.Demote(t.Context(), leader.id) }, turn.Invalid)
	put(t, c.leader(), "s", "x")
	c.start(down)
	c.ready()
	c.sameState()
}

// A learner that is added again is waited for until it has caught up; neither that nor its promotion waits for ever
// for one that does not answer.
func TestLearnerThatIsDownIsNotWaitedForWithoutEnd(t *testing.T) {
	c := newCluster(t, 3, func(cfg *Config) { cfg.Calls.LeaderWait = 2 * time.Second })
	c.ready()
	c.addrs["n4"] = freeAddr(t)
	c.start("n4", func(cfg *Config) { cfg.Join = true })
	c.change(func(leader *running) error { return leader.members.AddLearner(t.Context(), "n4", c.addrs["n4"]) })
	c.hasRole("n4", false)
	c.kill("n4")
	for name, change := range map[string]requests.Change{
		"its promotion":   {Kind: requests.Promote, ID: "n4"},
		"to be a learner": {Kind: requests.AddLearner, ID: "n4", Addr: c.addrs["n4"]},
	} {
		eventuallyTrue(t, name+" ends", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), hang/2)
			defer cancel()
			err := c.leader().members.Make(ctx, change)
			if err == nil || turn.Is(err, turn.Exists) {
				t.Fatalf("%s, which is down: %v", name, err)
			}
			return strings.Contains(err.Error(), "has not answered for 2s")
		})
	}
	c.start("n4")
	c.ready()
	c.change(func(leader *running) error { return leader.members.Promote(t.Context(), "n4") })
	c.hasRole("n4", true)
}

// A learner that was removed while it did not run is told so when it starts, and how to join again.
func TestRemovedLearnerIsToldHowToJoinAgain(t *testing.T) {
	c := newCluster(t, 3)
	c.ready()
	c.addrs["n4"] = freeAddr(t)
	n4 := c.start("n4", func(cfg *Config) { cfg.Join = true })
	c.change(func(leader *running) error { return leader.members.AddLearner(t.Context(), "n4", c.addrs["n4"]) })
	eventuallyTrue(t, "it is recorded, and knows the cluster", func() bool {
		return n4.data.Recorded("n4") != "" && n4.data.Identity.Get().ClusterID != ""
	})
	c.kill("n4") // its state may not be flushed
	c.change(func(leader *running) error { return leader.members.RemoveNode(t.Context(), "n4") })
	n4 = c.start("n4", func(cfg *Config) { cfg.Join = true })
	if err := c.ended(n4); !errors.Is(err, ErrRemoved) || !strings.Contains(err.Error(), "empty data directory") {
		t.Fatalf("it ends with: %v", err)
	}
	c.wipe("n4")
	c.start("n4", func(cfg *Config) { cfg.Join = true })
	c.change(func(leader *running) error { return leader.members.AddLearner(t.Context(), "n4", c.addrs["n4"]) })
	c.hasRole("n4", false)
}

// A learner that is told to stand for election does not: it would depose the leader that there is.
func TestLearnerDoesNotStand(t *testing.T) {
	c := newCluster(t, 3)
	c.ready()
	leader, other := c.pair()
	eventuallyTrue(t, "demotion is possible", func() bool { return leader.data.State.Level() >= turn.Level2 })
	c.change(func(l *running) error { return l.members.Demote(t.Context(), other.id) })
	c.hasRole(other.id, false)
	leader = c.leader()
	if err := (transfer{leader.Node}).callElection(other.id, c.addrs[other.id]); err == nil ||
		!strings.Contains(err.Error(), "has no vote") {
		t.Errorf("the leader calls the learner's election: %v", err)
	}
	request := &raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}}
	if err := leader.trans.TimeoutNow(raft.ServerID(other.id), raft.ServerAddress(c.addrs[other.id]), request,
		&raft.TimeoutNowResponse{}); err == nil || !strings.Contains(err.Error(), "has no vote") {
		t.Errorf("the learner is told to stand: %v", err)
	}
}

// Two who change the members at once, each at another node, both get what they asked for: changes take their turns.
// Of two that exclude each other, such as the promotion and the removal of one node, one may be rejected.
func TestChangesOfMembersAtOnce(t *testing.T) {
	c := newCluster(t, 3)
	c.ready()
	for _, id := range []string{"n4", "n5"} {
		c.addrs[id] = freeAddr(t)
		c.start(id, func(cfg *Config) { cfg.Join = true })
	}
	n1, n2, ctx := c.nodes["n1"], c.nodes["n2"], t.Context()
	c.atOnce(func() error { return n1.members.AddLearner(ctx, "n4", c.addrs["n4"]) },
		func() error { return n2.members.AddLearner(ctx, "n5", c.addrs["n5"]) })
	c.hasRole("n4", false)
	c.hasRole("n5", false)
	c.atOnce(func() error { return n1.members.Promote(ctx, "n4") },
		func() error { return n2.members.Promote(ctx, "n5") })
	c.hasRole("n4", true)
	c.hasRole("n5", true)
	c.atOnce(func() error { return n1.members.Demote(ctx, "n4") }, func() error { return n2.members.Demote(ctx, "n5") })
	c.hasRole("n4", false)
	c.hasRole("n5", false)
	n5 := c.nodes["n5"]
	c.atOnce(func() error { return n1.members.Promote(ctx, "n5") },
		func() error { return n2.members.RemoveNode(ctx, "n5") })
	if err := c.ended(n5); !errors.Is(err, ErrRemoved) {
		t.Fatalf("the removed node ends with: %v", err)
	}
	put(t, n1, "s", "x")
	c.sameState()
}

// atOnce makes two changes of the members at the same time, each until it is made, or was made before, or the node is
// no member any more.
func (c *cluster) atOnce(changes ...func() error) {
	c.t.Helper()
	ended := make(chan error, len(changes))
	for _, change := range changes {
		go func() {
			err := change()
			for c.t.Context().Err() == nil && (turn.Is(err, turn.Unavailable) || turn.Is(err, turn.Unknown)) {
				err = change() // it has waited for a leader
			}
			if turn.Is(err, turn.Exists) || turn.Is(err, turn.NotFound) {
				err = nil
			}
			ended <- err
		}()
	}
	for range changes {
		select {
		case err := <-ended:
			if err != nil {
				c.t.Error(err)
			}
		case <-time.After(hang):
			c.t.Fatal("a change does not end")
		}
	}
}

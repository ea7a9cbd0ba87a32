package raftstore

import (
	"testing"

	"github.com/turnlog/turnlog/internal/raftlog"
)

// A node that was down while one member was added and another one was removed votes for the
// new member, which it does not know, and follows it: no other node could lead.
func TestVoteForAMemberAddedMeanwhile(t *testing.T) {
	c := newCluster(t, 3)
	c.recordedAll()
	c.leadBy("n2")
	c.kill("n3")
	c.addrs["n4"] = freeAddr(t)
	c.start("n4", func(cfg *Config) { cfg.Join = true })
	c.change(func(leader *running) error { return leader.members.AddNode(t.Context(), "n4", c.addrs["n4"]) })
	c.change(func(leader *running) error { return leader.members.RemoveNode(t.Context(), "n1") })
	if err := c.ended(c.nodes["n1"]); err == nil {
		t.Fatal("n1 was not removed")
	}
	put(t, c.leader(), "s", "x")
	c.level()
	c.kill("n2")
	n3 := c.start("n3")
	if id := c.leader().id; id != "n4" {
		t.Fatalf("%s leads", id)
	}
	put(t, c.nodes["n4"], "s", "y")
	eventuallyTrue(t, "n3 knows n4", func() bool {
		return n3.data.Recorded("n4") != "" && n3.data.Recorded("n1") == ""
	})
	c.ready()
	c.sameState()
}

// A candidate that was removed wins no vote of a node that knows of it, nor one that has a
// leader, though it says that its log is ahead.
func TestRemovedCandidateGetsNoVote(t *testing.T) {
	c := newCluster(t, 3)
	c.recordedAll()
	c.leadBy("n1")
	for _, voter := range []string{"n1", "n2"} {
		if c.wouldVote(voter, "n9", raftlog.Position{Index: 1 << 40, Term: 1000}) {
			t.Errorf("%s, which has a leader, would vote for another node", voter)
		}
	}
	end := c.nodes["n2"].data.End()
	c.kill("n1")
	c.kill("n3")
	n2 := c.nodes["n2"]
	eventuallyTrue(t, "n2 has no leader", func() bool { _, id := n2.raft.Load().LeaderWithID(); return id == "" })
	for name, p := range map[string]raftlog.Position{"with the same log": end,
		"that lags": {Index: end.Index - 1, Term: end.Term}} {
		if c.wouldVote("n2", "n9", p) {
			t.Errorf("n2 would vote for a node that it does not know, %s", name)
		}
	}
	if !c.wouldVote("n2", "n9", raftlog.Position{Index: 1 << 40, Term: 1000}) {
		t.Error("n2 would not vote for a node whose log is ahead")
	}
	c.start("n1")
	c.start("n3")
	c.leader()
}

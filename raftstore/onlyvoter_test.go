package raftstore

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/vfs/simdisk"
	"github.com/turnlog/turnlog/turn"
)

// onlyVoter starts two nodes and makes n2 a learner; n1 leads.
func onlyVoter(t *testing.T, options ...func(*Config)) *cluster {
	t.Helper()
	c := newCluster(t, 2, options...)
	c.ready()
	c.leadBy("n1")
	eventuallyTrue(t, "demotion is possible", func() bool { return c.leader().data.State.Level() >= turn.Level2 })
	c.change(func(leader *running) error { return leader.members.Demote(t.Context(), "n2") })
	c.hasRole("n2", false)
	c.leadBy("n1")
	return c
}

// waitsForRest checks that the node, which has lost the end of its log, attempts elections and wins none, and tells
// what to do.
func waitsForRest(t *testing.T, n *running) {
	t.Helper()
	promised := n.data.Vote.Promised()
	eventuallyTrue(t, "it has attempted elections", func() bool {
		leads, _, _ := n.raft.State()
		if why := n.failure.Reason(); why != nil || leads {
			t.Fatalf("it leads: %v; it stops: %v", leads, why)
		}
		return n.data.Vote.Promised() >= promised+3
	})
	if _, missing := n.data.Mark.Lost(); !missing {
		t.Fatal("it takes its log for whole")
	}
	_, reasons := n.Ready()
	if !slices.ContainsFunc(reasons, func(why string) bool { return strings.Contains(why, "turnlog recover") }) {
		t.Errorf("it does not say what to do: %q", reasons)
	}
}

// The only voter has lost the end of its log, and the learner lacks that, too: what was acknowledged is not taken
// back by leading without it.
func TestOnlyVoterDoesNotLeadWithoutWhatItLost(t *testing.T) {
	disk := simdisk.New()
	c := onlyVoter(t, func(cfg *Config) {
		if cfg.NodeID == "n1" {
			cfg.Log.Disk = disk
		}
	})
	c.kill("n2")
	put(t, c.nodes["n1"], "s", "x")
	put(t, c.nodes["n1"], "s", "y")
	disk = disk.Kill()
	c.kill("n1")
	rotLastBatch(t, disk, filepath.Join(c.dir, "n1", raftlog.WALName))
	n1 := c.start("n1")
	eventuallyTrue(t, "it stops, or runs", func() bool { return n1.failure.Reason() != nil || n1.raft.Load() != nil })
	waitsForRest(t, n1)
	c.start("n2")
	c.asked("n1")
	waitsForRest(t, n1)
	c.killAll()
}

// What the only voter has lost includes that the learner was given a vote. The learner has all that was
// acknowledged since: it leads, and sends the rest.
func TestLearnerPromotedInWhatTheOnlyVoterLost(t *testing.T) {
	c := onlyVoter(t)
	dir, aside := filepath.Join(c.dir, "n1", raftlog.WALName), t.TempDir()
	c.copied("n1", raftlog.WALName, aside)
	c.change(func(leader *running) error { return leader.members.Promote(t.Context(), "n2") })
	c.hasRole("n2", true)
	put(t, c.leader(), "s", "y")
	c.level()
	c.killAll()
	restore(t, aside, dir)
	n1 := c.start("n1")
	eventuallyTrue(t, "it stops, or runs", func() bool { return n1.failure.Reason() != nil || n1.raft.Load() != nil })
	if why := n1.failure.Reason(); why != nil {
		t.Fatalf("it does not wait for the learner: %v", why)
	}
	c.start("n2")
	if leader := c.leader(); leader.id != "n2" {
		t.Fatalf("%s leads", leader.id)
	}
	c.ready()
	if got := texts(t, n1, "s", turn.Linearizable); !slices.Equal(got, []string{"y"}) {
		t.Errorf("the session has %q", got)
	}
	c.sameState()
}

// The same, with a state that goes beyond what is left of the log and does not reach to the promotion: by its records,
// the learner is one still.
func TestLearnerPromotedBeyondTheStateOfTheOnlyVoter(t *testing.T) {
	c := onlyVoter(t)
	n1 := c.nodes["n1"]
	recorded := func(n *running) bool {
		return slices.ContainsFunc(n.data.State.Members(),
			func(m codec.Member) bool { return m.ID == "n2" && m.Learner })
	}
	eventuallyTrue(t, "n2 is recorded as a learner", func() bool { return recorded(n1) })
	dir, aside := filepath.Join(c.dir, "n1", raftlog.WALName), t.TempDir()
	c.copied("n1", raftlog.WALName, aside)
	n1 = c.nodes["n1"]
	put(t, n1, "s", "x")
	if err := n1.data.State.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.change(func(leader *running) error { return leader.members.Promote(t.Context(), "n2") })
	c.hasRole("n2", true)
	put(t, c.leader(), "s", "y")
	c.level()
	c.killAll()
	restore(t, aside, dir)
	n1 = c.start("n1")
	eventuallyTrue(t, "it stops, or runs", func() bool { return n1.failure.Reason() != nil || n1.raft.Load() != nil })
	if why := n1.failure.Reason(); why != nil {
		t.Fatalf("it does not wait for the learner: %v", why)
	}
	durable, _ := n1.data.State.Durable()
	if end, err := n1.data.Log.End(); durable <= end.Index || err != nil || !recorded(n1) {
		t.Fatalf("the state ends at %d, the log at %v, %v; recorded: %v", durable, end, err, n1.data.State.Members())
	}
	c.start("n2")
	if leader := c.leader(); leader.id != "n2" {
		t.Fatalf("%s leads", leader.id)
	}
	c.ready()
	if got := texts(t, n1, "s", turn.Linearizable); !slices.Equal(got, []string{"x", "y"}) {
		t.Errorf("the session has %q", got)
	}
	c.sameState()
}

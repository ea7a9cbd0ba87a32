package raftstore

import (
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/propose"
)

// aheadCluster is a cluster with a leader whose log has stored nothing since one
// message, and yet has been given another. open lets it go on.
func aheadCluster(t *testing.T, dir string,
	nodes int) (c *simCluster, leader *simNode, call *propose.Call, open func()) {
	c = newSimCluster(t, 1, dir, nodes)
	c.recover()
	leader = c.leader()
	c.append("before")
	open = leader.slow.shut()
	call = leader.Submit(t.Context(), appendOp("s", "ahead"))
	time.Sleep(time.Second) // of fake time: whatever can happen has happened
	select {
	case <-call.Done():
		t.Error("the call was answered before the leader's log is durable")
	default:
	}
	return c, leader, call, open
}

// append has the leader append to session "s".
func (c *simCluster) append(text string) {
	c.t.Helper()
	if _, err := c.leader().Submit(c.t.Context(), appendOp("s", text)).Wait(); err != nil {
		c.t.Fatalf("append %q: %v", text, err)
	}
}

// deposed waits until another node leads than old, which may be down.
func (c *simCluster) deposed(old *simNode, limit time.Duration) {
	c.t.Helper()
	c.within(limit, "another leader", func() bool {
		l := c.leader()
		return l != nil && l != old
	})
}

// endSound appends once more, mends everything and holds all nodes to the same state.
func (c *simCluster) endSound() {
	c.t.Helper()
	c.append("after")
	c.recover()
	c.sameState()
	c.close()
}

// While a leader's own log is not durable, what it sends to the others is durable
// there, and yet no node takes it for committed. A leader that is the only voter
// commits by its own count, so nothing may run ahead.
func TestNothingCommitsBeforeTheLeadersOwnLog(t *testing.T) {
	for _, nodes := range []int{1, 3, 5} {
		bubble(t, func(t *testing.T, dir string) {
			c, leader, call, open := aheadCluster(t, dir, nodes)
			defer c.abandon()
			defer open()
			end := leader.data.Log.LastDurable()
			for _, n := range c.running() {
				_, _, commit := n.raft.State()
				if applied, _ := n.data.State.Applied(); commit > end || applied > end {
					t.Errorf("%s has entry %d committed, %d applied; the leader's log ends at %d", n.id, commit,
						applied, end)
				}
				if last := n.data.Log.LastDurable(); n != leader && last <= end {
					t.Errorf("the log of %s ends at %d: the leader does not send what it stores", n.id, last)
				}
			}
			if lead, _, _ := leader.raft.State(); !lead {
				t.Error("a slow log ended the leader's term")
			}
			open()
			if _, err := call.Wait(); err != nil {
				t.Error(err)
			}
			c.sameState()
			c.close()
		})
	}
}

// A leader whose power fails loses what it sent and did not store. The others have
// it, or not; in no case was it acknowledged by the leader's word alone.
func TestPowerFailsWhileTheLeaderRunsAhead(t *testing.T) {
	bubble(t, func(t *testing.T, dir string) {
		c, leader, _, open := aheadCluster(t, dir, 3)
		defer c.abandon()
		defer open()
		c.crash(leader.id)
		open() // what is left of the node ends; its disk takes nothing any more
		c.deposed(leader, time.Minute)
		c.endSound()
	})
}

// A deposed leader goes on to the next term, in which it acknowledges what is in
// its log, when all of that is durable.
func TestNoTermBeginsBeforeTheLogIsDurable(t *testing.T) {
	bubble(t, func(t *testing.T, dir string) {
		c, old, _, open := aheadCluster(t, dir, 3)
		defer c.abandon()
		defer open()
		_, term, _ := old.raft.State()
		c.cut(old.id, c.others(old.id), true, true)
		c.deposed(old, time.Minute)
		c.net.heal()
		time.Sleep(5 * time.Second) // of fake time
		if promised := old.data.Vote.Promised(); promised != term {
			t.Errorf("the old leader of term %d is in term %d, before its log is durable", term, promised)
		}
		open()
		c.within(time.Minute, "the old leader follows", func() bool { return old.data.Vote.Promised() > term })
		c.endSound()
	})
}

// A leader whose disk hangs makes way for another: the log of each other node goes
// on, and no node waits for that disk.
func TestALeaderWithAHangingDiskMakesWay(t *testing.T) {
	bubble(t, func(t *testing.T, dir string) {
		c, old, _, open := aheadCluster(t, dir, 3)
		defer c.abandon()
		defer open()
		c.deposed(old, 5*time.Second)
		c.append("while it hangs")
		open()
		c.endSound()
	})
}

// One that has made way sends no more heartbeats. The first election can fail, as here,
// where the two others do not hear of each other meanwhile: with heartbeats, one of them
// would go on obeying a leader that leads no more and yet, since its disk hangs, is stuck
// on the way to the next term.
func TestALeaderWithAHangingDiskFallsSilent(t *testing.T) {
	bubble(t, func(t *testing.T, dir string) {
		c, old, _, open := aheadCluster(t, dir, 3)
		defer c.abandon()
		defer open()
		others := c.others(old.id)
		c.cut(others[0], others[1:], true, true)
		c.within(10*time.Second, "the leader steps down", func() bool { lead, _, _ := old.raft.State(); return !lead })
		c.net.reset(others[0]) // what the two sent each other is lost
		c.net.heal()
		c.deposed(old, 15*time.Second) // one node is slow to notice silence, see slowTimers
		c.append("while it hangs")
		open()
		c.endSound()
	})
}

package raftstore

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// A node is not removed if those that remain and can be reached are no quorum: they could
// not even commit the removal, and there would be no leader.
func TestRemovalThatLeavesNoQuorumIsRefused(t *testing.T) {
	c := newCluster(t, 3, func(cfg *Config) { cfg.Calls.LeaderWait = 3 * time.Second })
	c.ready()
	leader, follower := c.pair()
	down := "n1"
	for leader.id == down || follower.id == down {
		down = map[string]string{"n1": "n2", "n2": "n3"}[down]
	}
	c.kill(down)
	for _, id := range []string{leader.id, follower.id} {
		eventuallyTrue(t, "its removal is refused", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), hang/2)
			defer cancel()
			err := c.leader().members.RemoveNode(ctx, id)
			if !turn.Is(err, turn.Unavailable) {
				t.Fatalf("the removal of %s ended with: %v", id, err)
			}
			return strings.Contains(err.Error(), "reachable and up to date") // else the leader changed
		})
	}
	put(t, c.leader(), "s", "x")
	c.change(func(leader *running) error { return leader.members.RemoveNode(t.Context(), down) })
	put(t, c.leader(), "s", "y")
}

// A change of the membership that meets a change of leader is made by the next leader.
func TestChangeFollowsTheLeader(t *testing.T) {
	c := newCluster(t, 3)
	c.ready()
	leader, f := c.pair()
	other := "n1"
	for leader.id == other || f.id == other {
		other = map[string]string{"n1": "n2", "n2": "n3"}[other]
	}
	for range 20 {
		f.lead.SetLeader(other) // as if it had not heard yet who leads now
		if err := f.members.RemoveNode(t.Context(), "n9"); !turn.Is(err, turn.NotFound) {
			t.Fatalf("the change ended with: %v", err)
		}
	}
}

package raftstore

import (
	"testing"

	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/turn"
)

// Operations that each pass a long list fit into one entry in part only. Sent together,
// to the leader or to another node, they come in several entries, and none is refused.
func TestSearchesOfLongListsDoNotRefuseEachOther(t *testing.T) {
	c := newCluster(t, 3)
	c.atLevel(turn.NewestLevel)
	leader, other := c.leader(), c.follower()
	thousand := make([]turn.NewMessage, 1000)
	for range turn.DefaultLimits().ForkMessages / len(thousand) {
		if _, err := leader.Apply(t.Context(), &turn.Append{Key: key("s"), Messages: thousand}); err != nil {
			t.Fatal(err)
		}
	}
	for name, n := range map[string]*running{"the leader": leader, "a follower": other} {
		release, err := leader.writes.proposer.Hold(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var calls []*propose.Call
		for range 30 {
			calls = append(calls, n.Submit(t.Context(), &turn.RemoveElements{Key: key("s"), Data: []byte("none")}))
		}
		release()
		for i, call := range calls {
			if _, err := call.Wait(); err != nil {
				t.Errorf("search %d, sent to %s: %v", i, name, err)
			}
		}
	}
}

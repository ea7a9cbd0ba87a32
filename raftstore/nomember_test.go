package raftstore

import (
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// A node that is not a member has no state of the cluster's: it does not answer, even a stale read, that there is no
// such session. One that becomes a member does not answer from a state in which it was none yet.
func TestStaleReadAtANodeThatIsNoMember(t *testing.T) {
	c := newCluster(t, 3)
	put(t, c.leader(), "s", "x")
	c.addrs["n4"] = freeAddr(t)
	n4 := c.start("n4", func(cfg *Config) { cfg.Join = true })
	stale := func() (turn.Result, error) {
		return n4.Query(t.Context(), &turn.Read{Key: key("s")}, turn.Consistency{Level: turn.Stale})
	}
	eventuallyTrue(t, "it runs", func() bool { return n4.raft.Load() != nil })
	began := time.Now()
	res, err := stale()
	if turn.KindOf(err) != turn.Unavailable || !strings.Contains(err.Error(), "no longer, a member") {
		t.Errorf("a node that is no member reads %+v, %v", res, err)
	}
	if took := time.Since(began); took > hang/2 {
		t.Errorf("it waited %v for a leader", took)
	}
	added := make(chan struct{})
	go func() {
		defer close(added)
		c.change(func(leader *running) error { return leader.members.AddLearner(t.Context(), "n4", c.addrs["n4"]) })
	}()
	eventuallyTrue(t, "it reads what was there before it was added", func() bool {
		res, err := stale()
		if err == nil && len(res.Messages) != 1 {
			t.Fatalf("it reads %+v", res)
		}
		return err == nil
	})
	<-added
}

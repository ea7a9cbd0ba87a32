package raftstore

import (
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// A call that a follower sent to one leader, and that the next one rejects, ends when this node knows what became of
// the first attempt: in no log of that time is it any more.
func TestForwardedCallThatTheNextLeaderRejectsEnds(t *testing.T) {
	w := newWires()
	c, d := newSpaceCluster(t, patient, w.option)
	defer c.killAll()
	put(t, c.elect("n1"), "s", "x")
	c.recordedAll()
	c.atLevel(turn.NewestLevel)
	n2 := c.nodes["n2"]
	w.dropRequests("n2", c.addrs["n1"], true)
	call := n2.Submit(t.Context(), appendOp("s", "y"))
	eventuallyTrue(t, "the call is on its way", func() bool { return n2.writes.forwarder.Stats().Calls > 0 })
	d.set(1<<20, "n2", "n3")
	c.rejecting(true)
	d.set(1<<20, "n1") // now, so that it hands over to no node with space
	eventuallyTrue(t, "n1 is short, too", func() bool { return c.nodes["n1"].space.Short() != nil })
	c.elect("n3")
	select {
	case <-call.Done():
	case <-time.After(hang / 3):
		t.Fatal("the call waits for an outcome that nothing can bring")
	}
	_, err := call.Wait()
	kindIs(t, err, turn.Unknown)
	if !strings.Contains(err.Error(), "not sent again") {
		t.Error(err)
	}
	if got := texts(t, n2, "s", turn.Linearizable); len(got) != 1 {
		t.Errorf("the session has %v", got)
	}
}

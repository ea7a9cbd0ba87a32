package raftstore

import "testing"

// Any node that is asked has the leader hand over.
func TestHandOverFromAnyNode(t *testing.T) {
	c := newCluster(t, 3)
	for range 3 {
		c.ready()
		before := c.leader().id
		if err := c.follower().HandOver(t.Context()); err != nil {
			t.Fatal(err)
		}
		eventuallyTrue(t, "another node leads", func() bool { return c.leader().id != before })
	}
	put(t, c.follower(), "s", "x")
}

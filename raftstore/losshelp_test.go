package raftstore

import (
	"path/filepath"
	"strings"
	"testing"
)

// The end of a log is lost, and with it the removal of all other members. The state knows of the
// removal: the node does not wait for those who will never come.
func TestLostEndOfTheLastMemberIsRefused(t *testing.T) {
	c := newCluster(t, 3)
	c.recordedAll()
	put(t, c.leader(), "s", "a")
	c.level()
	dir, aside := filepath.Join(c.dir, "n1"), t.TempDir()
	c.copied("n1", walName, aside)
	c.leaveAlone("n1")
	n1 := c.leader()
	put(t, n1, "s", "b")
	if err := n1.state.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.kill("n1")
	restore(t, aside, filepath.Join(dir, walName))
	for range 2 { // the second time it knows of the loss from before
		n1 = c.start("n1")
		eventuallyTrue(t, "it stops, or runs", func() bool { return n1.reason() != nil || n1.raft.Load() != nil })
		if n1.reason() == nil {
			t.Fatalf("it waits for the members that its log names: %v", n1.configuration().Servers)
		}
		err := c.ended(n1)
		if err == nil || !strings.Contains(err.Error(), "no other node has it") || strings.Contains(err.Error(), "delete the file") {
			t.Fatalf("it ends with: %v", err)
		}
	}
}

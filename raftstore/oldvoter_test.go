package raftstore

import (
	"path/filepath"
	"strings"
	"testing"
)

// oldOnlyVoter returns a cluster whose only voter, n1, was put back to an older copy of its data while the learner did
// not run, and has since led in a later term than any that the learner knows. The learner has two writes that
// the copy lacks, and does not run either.
func oldOnlyVoter(t *testing.T, stop func(*cluster, string)) (c *cluster, n1 *running) {
	t.Helper()
	c = onlyVoter(t)
	put(t, c.nodes["n1"], "s", "a")
	dir, aside := filepath.Join(c.dir, "n1"), t.TempDir()
	c.copied("n1", "", aside)
	n1 = c.nodes["n1"]
	put(t, n1, "s", "b")
	put(t, n1, "s", "c")
	c.level()
	stop(c, "n2")
	c.kill("n1")
	restore(t, aside, dir)
	for range 3 {
		n1 = c.start("n1")
		put(t, n1, "s", "x") // there is no node that knows better
		c.kill("n1")
	}
	return c, c.start("n1")
}

// An older copy of an only voter does not go on beside a learner that has what the copy lacks, and says what to do.
func TestOlderCopyOfAnOnlyVoterStopsWhenALearnerKnowsMore(t *testing.T) {
	for name, stop := range map[string]func(*cluster, string){"a learner that was stopped": (*cluster).stop,
		"a learner that was killed": (*cluster).kill} {
		t.Run(name, func(t *testing.T) {
			c, n1 := oldOnlyVoter(t, stop)
			n2 := c.start("n2")
			had := n2.data.Log.LastDurable()
			if err := c.ended(n1); err == nil || !strings.Contains(err.Error(), "older copy") ||
				!strings.Contains(err.Error(), "turnlog recover") {
				t.Fatalf("it ends with: %v", err)
			}
			c.stillRuns("n2")
			if end := n2.data.Log.LastDurable(); end != had {
				t.Errorf("the learner's log ended at %d, and ends at %d now", had, end)
			}
			// The way in the message: the learner is removed, and the copy goes on without what it lacks.
			c.kill("n2")
			n1 = c.start("n1")
			c.change(func(leader *running) error { return leader.members.RemoveNode(t.Context(), "n2") })
			put(t, n1, "s", "y")
		})
	}
}

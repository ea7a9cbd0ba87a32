package raftstore

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/rollback"
	"github.com/turnlog/turnlog/turn"
)

// One node of two is put back from an older copy. Neither can elect a leader then, and both
// say what to do; when that is done, nothing is lost.
func TestOlderCopyOfOneOfTwo(t *testing.T) {
	c := newCluster(t, 2)
	c.recordedAll()
	put(t, c.leader(), "s", "a")
	aside := t.TempDir()
	c.copied("n2", "", aside)
	put(t, c.leader(), "s", "b")
	c.level()
	n1, end := c.nodes["n1"], c.nodes["n2"].data.Mark.Position()
	eventuallyTrue(t, "n1 has seen more of n2 than the copy has",
		func() bool { return !n1.seen.Last("n2").Position().Before(end) })
	c.kill("n2")
	restore(t, aside, filepath.Join(c.dir, "n2"))
	// It could send what n2 lost.
	eventuallyTrue(t, "n1 does not lead any more", func() bool { return !n1.raft.Leads() })
	c.start("n2")
	for _, id := range ids(2) {
		eventuallyTrue(t, id+" says what to do", func() bool {
			_, reasons := c.nodes[id].Ready()
			if slices.Contains(reasons, rollback.IfAllRestored) {
				t.Fatalf("%s says that data is lost: %q", id, reasons)
			}
			return slices.Contains(reasons, rollback.OneOfTwoRestored("n2", "n1"))
		})
	}
	c.killAll()
	if err := errors.Join(os.Remove(filepath.Join(c.dir, "n2", raftlog.MarkName)),
		os.Remove(filepath.Join(c.dir, "n1", rollback.FileName))); err != nil {
		t.Fatal(err)
	}
	c.start("n1")
	c.start("n2")
	c.leader()
	for _, id := range ids(2) {
		if got := texts(t, c.nodes[id], "s", turn.Linearizable); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("%s has %q", id, got)
		}
	}
	c.ready()
	c.sameState()
}

package raftstore

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/datadir"
	"github.com/turnlog/turnlog/turn"
)

// contradict has a node be asked to cut an entry that it knows to be committed, and returns why it
// stops.
func (c *cluster) contradict(r *running) error {
	c.t.Helper()
	applied, _ := r.data.State.Applied()
	done := make(chan struct{})
	go func() { // as Raft's main loop, which does not go on
		defer close(done)
		_ = r.data.Log.DeleteRange(applied, math.MaxUint64)
	}()
	<-done
	return c.ended(r)
}

// A node that stopped since the leader has other entries than those that it knows to be committed
// does not start again: it would not know them any more. The advice works.
func TestCommittedCutIsNotForgotten(t *testing.T) {
	c := newCluster(t, 3)
	c.recordedAll()
	put(t, c.leader(), "s", "x")
	c.level()
	f := c.follower()
	why := c.contradict(f)
	if _, err := Open(c.config(f.id)); err == nil || !strings.Contains(err.Error(), why.Error()) {
		t.Fatalf("the node stopped because of %v; it is started again: %v", why, err)
	}
	for _, says := range []string{"add it again with an empty data directory",
		"delete the file " + datadir.ContradictedName} {
		if !strings.Contains(why.Error(), says) {
			t.Errorf("it does not say %q: %v", says, why)
		}
	}
	// It is removed, and added again with an empty directory.
	c.change(func(l *running) error { return l.members.RemoveNode(t.Context(), f.id) })
	c.wipe(f.id)
	r := c.start(f.id, func(cfg *Config) { cfg.Join = true })
	c.change(func(l *running) error { return l.members.AddNode(t.Context(), f.id, c.addrs[f.id]) })
	eventuallyTrue(t, "it has all", func() bool {
		res, err := r.Query(t.Context(), &turn.Read{Key: key("s")}, turn.Consistency{})
		return err == nil && len(res.Messages) == 1
	})
	c.sameState()
}

// A node whose disk hangs stops before it has written down why it may not start again, and says so if
// it could not.
func TestContradictedNodeStopsWhileItsDiskHangs(t *testing.T) {
	c := newCluster(t, 3)
	c.recordedAll()
	put(t, c.leader(), "s", "x")
	c.level()
	f := c.follower()
	// Opening a pipe to write waits until it is read, as a disk that hangs does.
	pipe := filepath.Join(c.dir, f.id, datadir.ContradictedName+".tmp")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.contradict(f) }()
	select {
	case <-f.failure.Known():
	case <-time.After(hang):
		t.Error("the node goes on while its disk hangs")
	}
	r, err := os.Open(pipe)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "do not start the node again") {
		t.Errorf("it stops because of %v", err)
	}
}

// Nodes that are missing for a majority since they stopped like this are started again without the
// file, as the advice says, and lead on.
func TestContradictedMajorityStartsAgain(t *testing.T) {
	c := newCluster(t, 3)
	c.recordedAll()
	put(t, c.leader(), "s", "x")
	c.level()
	for _, id := range []string{"n1", "n2"} {
		if err := c.contradict(c.nodes[id]); err == nil {
			t.Fatalf("%s goes on", id)
		}
	}
	for _, id := range []string{"n1", "n2"} {
		if err := os.Remove(filepath.Join(c.dir, id, datadir.ContradictedName)); err != nil {
			t.Fatal(err)
		}
		c.start(id)
	}
	put(t, c.leader(), "s", "y")
	c.sameState()
}

package raftstore

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/newcluster"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/turn"
)

// The end of a log is lost, and with it the removal of all other members. The state knows of the
// removal: the node does not wait for those who will never come. The way on that it names loses nothing of the state.
func TestLostEndOfTheLastMemberIsRefused(t *testing.T) {
	c := newCluster(t, 3)
	c.recordedAll()
	put(t, c.leader(), "s", "a")
	c.level()
	dir, aside := filepath.Join(c.dir, "n1"), t.TempDir()
	c.copied("n1", raftlog.WALName, aside)
	c.leaveAlone("n1")
	n1 := c.leader()
	put(t, n1, "s", "b")
	if err := n1.data.State.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.kill("n1")
	restore(t, aside, filepath.Join(dir, raftlog.WALName))
	for range 2 { // the second time it knows of the loss from before
		n1 = c.start("n1")
		eventuallyTrue(t, "it stops, or runs", func() bool {
			return n1.failure.Reason() != nil || n1.raft.Load() != nil
		})
		if n1.failure.Reason() == nil {
			t.Fatalf("it waits for the members that its log names: %v", n1.raft.Configuration())
		}
		err := c.ended(n1)
		if err == nil || !strings.Contains(err.Error(), "no other voter has it") ||
			strings.Contains(err.Error(), "delete the file") || !strings.Contains(err.Error(), "turnlog recover") {
			t.Fatalf("it ends with: %v", err)
		}
	}
	s := survey(t, dir)
	_, err := s.Recover(t.Context(), newcluster.Config{DataDir: filepath.Join(c.dir, "new-n1"), NodeID: "n1",
		Addr: c.addrs["n1"]})
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	n1 = c.startNew("n1")
	if got := texts(t, n1, "s", turn.Linearizable); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("the session has %q", got)
	}
}

// A leader of a young cluster has recorded itself and no other node yet when the end of its log is
// lost. It waits for the others, which are there.
func TestLostEndInAYoungClusterIsWaitedFor(t *testing.T) {
	c := reserve(t, 3)
	n := c.open("n1")
	if err := n.bootstrap(t.Context()); err != nil {
		t.Fatal(err)
	}
	applied(t, n, 2, &codec.Member{ID: "n1", Incarnation: n.data.Identity.Get().Incarnation})
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	n1 := c.start("n1")
	eventuallyTrue(t, "it stops, or runs", func() bool { return n1.failure.Reason() != nil || n1.raft.Load() != nil })
	if err := n1.failure.Reason(); err != nil {
		t.Fatalf("it does not wait for the others: %v", err)
	}
	durable, _ := n1.data.State.Durable()
	if end, err := n1.data.Log.End(); durable <= end.Index || err != nil {
		t.Fatalf("the state ends at %d, the log at %v, %v", durable, end, err)
	}
}

// applied applies an operation to the state of a node that does not run, durably.
func applied(t *testing.T, n *Node, index uint64, op turn.Op) {
	t.Helper()
	b, err := codec.EncodeOp(op)
	if err != nil {
		t.Fatal(err)
	}
	n.data.State.Apply(index, 1, codec.AppendEntry(nil, 1, []codec.Command{{Origin: 1, Number: 1, Op: b}}))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.data.State.Run(ctx) }()
	if err := n.data.State.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

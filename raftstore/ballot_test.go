package raftstore

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/raftlog"
)

// A leader ends a doubt by entries of its term, unless there may have been a later leader, of
// whose entries it does not know.
func TestLeaderThatEndsADoubt(t *testing.T) {
	l := raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}, Doubt: 5, Restored: true}
	for _, c := range []struct {
		term uint64
		end  raftlog.Position
		want bool
	}{
		{3, raftlog.Position{Index: 12, Term: 3}, false}, // others were in term 5
		{4, raftlog.Position{Index: 12, Term: 4}, false},
		{5, raftlog.Position{Index: 12, Term: 4}, false}, // it has not sent anything of its term yet
		{5, raftlog.Position{Index: 11, Term: 5}, true},
		{6, raftlog.Position{Index: 11, Term: 6}, true},
	} {
		if got := l.EndedBy(c.term, c.end); got != c.want {
			t.Errorf("a leader of term %d and a log up to %v end it: %v", c.term, c.end, got)
		}
	}
}

// The time in which the others are asked does not pass while Raft still reads its log.
func TestOthersAreAskedAlsoIfTheLogIsLong(t *testing.T) {
	bubble(t, func(t *testing.T, dir string) {
		c := newSimCluster(t, 1, dir, 3)
		defer c.abandon()
		c.recover()
		c.leader()
		c.halt("n1")
		c.within(10*time.Second, "the others have a leader", func() bool { return c.leader() != nil })
		c.cut("n1", c.others("n1"), true, true)
		c.slowReads = maxAskTime
		c.start("n1")
		n := c.node("n1")
		c.within(time.Minute, "it has read its log", func() bool { return n.raft.Load() != nil })
		if n.ballot.Ready() == nil {
			t.Error("it votes, and has asked no other node")
		}
		c.slowReads = 0
		c.recover()
	})
}

// A term that has two leaders, because a node voted twice in it, has two logs. A node that has
// entries of one of them takes none of the other: it would take its own for those.
func TestMessageOfASecondLeader(t *testing.T) {
	c := newCluster(t, 3)
	put(t, c.leader(), "s", "x")
	c.level() // a follower may lag, and end with its own configuration
	f := c.follower()
	// Beyond the first entry, a configuration that each member makes by itself.
	eventuallyTrue(t, "the follower has the write", func() bool { return f.data.Applied() > 1 })
	last, err := f.data.Log.LastIndex()
	var log raft.Log
	if err = errors.Join(err, f.data.Log.GetLog(last, &log)); err != nil {
		t.Fatal(err)
	}
	m := &raft.AppendEntriesRequest{Term: log.Term, Entries: []*raft.Log{&log}}
	if err := f.data.Log.CheckSame(m.Entries); err != nil {
		t.Errorf("an entry that is sent again: %v", err)
	}
	log.Data = append(slices.Clone(log.Data), 0)
	messages, toRaft := make(chan raft.RPC, 1), make(chan raft.RPC)
	answers := make(chan raft.RPCResponse, 1)
	messages <- raft.RPC{Command: m, RespChan: answers}
	go f.ballot.Pass(t.Context(), messages, func(rpc raft.RPC) { toRaft <- rpc }, testLogger())
	select {
	case <-answers:
	case <-toRaft:
		t.Error("the message of a second leader reaches Raft")
	}
	if err := f.failure.Reason(); err == nil || !strings.Contains(err.Error(), "two nodes led") {
		t.Errorf("the node stopped because of %v", err)
	}
	c.kill(f.id)
	if _, err := Open(c.config(f.id)); err == nil || !strings.Contains(err.Error(), f.failure.Reason().Error()) {
		t.Errorf("the node is started again: %v", err)
	}
	if err := os.RemoveAll(filepath.Join(c.dir, f.id)); err != nil {
		t.Fatal(err)
	}
	n, err := Open(c.config(f.id))
	if err != nil {
		t.Fatalf("with an empty directory: %v", err)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}

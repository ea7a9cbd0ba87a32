package raftstore

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/rollback"
	"github.com/turnlog/turnlog/internal/snapshot"
	"github.com/turnlog/turnlog/internal/vfs/simdisk"
	"github.com/turnlog/turnlog/turn"
)

// wouldVote asks a node whether it would vote for another one, if that had a log up to
// some position. Asking does not bind a node.
func (c *cluster) wouldVote(voter, candidate string, end raftlog.Position) bool {
	c.t.Helper()
	r := c.nodes[voter]
	req := &raft.RequestPreVoteRequest{
		RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(candidate),
			Addr: []byte(c.addrs[candidate])},
		Term: 1000, LastLogIndex: end.Index, LastLogTerm: end.Term,
	}
	answers, messages := make(chan raft.RPCResponse, 1), make(chan raft.RPC, 1)
	messages <- raft.RPC{Command: req, RespChan: answers}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go r.ballot.Pass(ctx, messages, func(rpc raft.RPC) { r.trans.hand(ctx, rpc) }, r.log)
	resp := (<-answers).Response.(*raft.RequestPreVoteResponse)
	return resp.Granted
}

// asked waits until a node that started has asked those that run.
func (c *cluster) asked(id string) {
	c.t.Helper()
	r := c.nodes[id]
	eventuallyTrue(c.t, id+" has asked the others",
		func() bool { return r.raft.Load() != nil && r.ballot.Ready() == nil })
}

// divided makes a cluster in which n1 leads, "a" is everywhere, and "b" was acknowledged by
// n1 and n2 alone; before is called in between.
func divided(c *cluster, w *wires, before func()) {
	c.t.Helper()
	c.leadBy("n1")
	put(c.t, c.nodes["n1"], "s", "a")
	c.level()
	before()
	c.isolate(w, "n3", []string{"n1", "n2"}, true)
	c.leadBy("n1")
	put(c.t, c.nodes["n1"], "s", "b")
	last := c.nodes["n1"].data.Log.LastDurable()
	eventuallyTrue(c.t, "n2 has the last entry", func() bool { return c.nodes["n2"].data.Log.LastDurable() == last })
}

func (c *cluster) killBoth() {
	c.kill("n2")
	c.kill("n1")
}

// lost checks that n2, which lost "b" and is in reach of n3 alone, helps no node to lead
// without it, and gets it back from n1.
func lostEntry(c *cluster, w *wires, mark raftlog.Position, doubt bool) {
	c.t.Helper()
	c.isolate(w, "n3", []string{"n1", "n2"}, false)
	n2, n3 := c.start("n2"), c.nodes["n3"]
	c.asked("n2")
	if _, missing := n2.data.Mark.Lost(); !missing && !doubt {
		c.t.Fatal("n2 does not know that it lost entries")
	}
	eventuallyTrue(c.t, "n2 hears that it lost entries", func() bool {
		_, missing := n2.data.Mark.Lost()
		return missing
	})
	if end, err := n3.data.Log.End(); err != nil || c.wouldVote("n2", "n3", end) {
		c.t.Fatalf("n2 would vote for n3, which ends at %v, %v", end, err)
	}
	l, _ := n2.data.Mark.Lost()
	if (l.Doubt > 0) != doubt {
		c.t.Fatalf("n2 lost %v", l)
	}
	// There may have been an election after the copy was made, on a busy machine.
	if can, may := c.wouldVote("n2", "n1", mark), !doubt || mark.Term > l.Doubt; can != may {
		c.t.Fatalf("n2, which lost %v, would vote for n1, which ends at %v: %v", l, mark, can)
	}
	if n2.status().Role != "recovering" {
		c.t.Errorf("the role of n2 is %s", n2.status().Role)
	}
	if n2.raft.Load().State() == raft.Leader || n3.raft.Load().State() == raft.Leader {
		c.t.Fatal("there is a leader without the last write")
	}
	c.start("n1")
	for _, id := range ids(3) {
		eventuallyTrue(c.t, id+" has all writes",
			func() bool { return slices.Equal(texts(c.t, c.nodes[id], "s", turn.Linearizable), []string{"a", "b"}) })
	}
	eventuallyTrue(c.t, "n2 votes again", func() bool { _, missing := n2.data.Mark.Lost(); return !missing })
	c.ready()
	c.sameState()
}

// Rot in the last batch of a node's log, and a kill: that is no torn end.
func TestRotInTheLastBatchLosesNothing(t *testing.T) {
	w := newWires()
	disk := simdisk.New()
	c := newCluster(t, 3, w.option, func(cfg *Config) {
		if cfg.NodeID == "n2" {
			cfg.Log.Disk = disk
		}
	})
	divided(c, w, func() {})
	mark := c.nodes["n2"].data.Mark.Position()
	disk = disk.Kill() // as it is now; what Close still writes is not seen
	c.killBoth()
	rotLastBatch(t, disk, filepath.Join(c.dir, "n2", raftlog.WALName))
	lostEntry(c, w, mark, false)
}

// rotLastBatch flips a bit of the last thing that is in a log.
func rotLastBatch(t *testing.T, disk *simdisk.Disk, dir string) {
	t.Helper()
	names, err := disk.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	slices.Reverse(names)
	for _, name := range names {
		if filepath.Ext(name) != ".seg" {
			continue
		}
		name = filepath.Join(dir, name)
		f, err := disk.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		size, _ := f.Size()
		b := make([]byte, size)
		if _, err := f.ReadAt(b, 0); err != nil {
			t.Fatal(err)
		}
		if used := len(bytes.TrimRight(b, "\x00")); used > 4096 { // else it is prepared and unused
			if err := disk.Rot(name, int64(used-1), 4); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("there is no log")
}

// markOf reads the mark of a node that is down.
func markOf(t *testing.T, dir string) raftlog.Position {
	t.Helper()
	n, err := Open(Config{NodeID: filepath.Base(dir), DataDir: dir, Peers: Peers{Addr: "127.0.0.1:0"},
		Logger: testLogger()})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	return n.data.Mark.Position()
}

// An older copy of a node's log is put back, and nothing else.
func TestOlderCopyOfTheLogLosesNothing(t *testing.T) {
	w := newWires()
	c := newCluster(t, 3, w.option)
	dir, aside := filepath.Join(c.dir, "n2"), t.TempDir()
	divided(c, w, func() {
		c.copied("n2", raftlog.WALName, aside)
		put(t, c.leader(), "other", "x")
		eventuallyTrue(t, "n2 has applied it",
			func() bool { return len(texts(t, c.nodes["n2"], "other", turn.Stale)) == 1 })
		if err := c.nodes["n2"].Snapshot(t.Context()); err != nil { // ends behind the copy
			t.Fatal(err)
		}
	})
	now := t.TempDir() // what a process that is killed leaves: Close does more
	if err := os.CopyFS(now, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	mark := c.nodes["n2"].data.Mark.Position()
	c.killBoth()
	restore(t, now, dir)
	restore(t, aside, filepath.Join(dir, raftlog.WALName))
	lostEntry(c, w, mark, false)
}

// An older copy of all that a node has is put back. A node that lags itself has seen
// more of it, though not all.
func TestOlderCopyOfANodeLosesNothing(t *testing.T) {
	w := newWires()
	c := newCluster(t, 3, w.option)
	dir, aside := filepath.Join(c.dir, "n2"), t.TempDir()
	divided(c, w, func() {
		c.copied("n2", "", aside)
		put(t, c.leader(), "other", "x")
		c.level()
		n3 := c.nodes["n3"]
		end := n3.data.Mark.Position()
		eventuallyTrue(t, "n3 has seen n2 farther than the copy",
			func() bool { return !n3.seen.Last("n2").Position().Before(end) })
	})
	c.killBoth()
	mark := markOf(t, dir)
	restore(t, aside, dir)
	lostEntry(c, w, mark, true)
}

// copied copies a part of a node's directory while the node is down.
func (c *cluster) copied(id, part, to string) {
	c.t.Helper()
	c.stop(id)
	if err := os.CopyFS(to, os.DirFS(filepath.Join(c.dir, id, part))); err != nil {
		c.t.Fatal(err)
	}
	c.start(id)
	c.ready()
}

func restore(t testing.TB, from, dir string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// A snapshot marker that is older than the log is refused, and does not panic.
func TestOlderSnapshotsFolderIsRefused(t *testing.T) {
	c := newCluster(t, 1, func(cfg *Config) {
		cfg.Storage.TailBytes, cfg.Storage.CompactBytes = 1, 1<<40
	})
	work := func() {
		for range 20 {
			put(t, c.nodes["n1"], "s", "x")
		}
		if err := c.nodes["n1"].Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	c.leader()
	work()
	aside := t.TempDir()
	c.copied("n1", "snapshots", aside)
	work()
	work()
	c.kill("n1")
	restore(t, aside, filepath.Join(c.dir, "n1", "snapshots"))
	err := c.ended(c.start("n1"))
	if err == nil || !bytes.Contains([]byte(err.Error()), []byte(snapshot.MarkerName+" ends at entry")) {
		t.Fatalf("the node ends with: %v", err)
	}
}

// All nodes are restored from a rolling backup: one after the other was stopped, copied and
// started again. Those with older copies wait for a leader, and say what to do; after that there is one.
func TestRollingBackupIsRestored(t *testing.T) {
	c := newCluster(t, 3)
	c.recordedAll()
	aside := t.TempDir()
	for _, id := range ids(3) {
		c.copied(id, "", filepath.Join(aside, id))
		put(t, c.leader(), "s", "after "+id)
		c.level()
		end := c.nodes[id].data.Mark.Position()
		eventuallyTrue(t, "the others have seen more of "+id+" than its copy has", func() bool {
			for o, n := range c.nodes {
				if o != id && n.seen.Last(id).Position().Before(end) {
					return false
				}
			}
			return true
		})
	}
	for _, id := range ids(3) {
		c.stop(id)
		restore(t, filepath.Join(aside, id), filepath.Join(c.dir, id))
	}
	for _, id := range ids(3) {
		c.start(id)
	}
	for _, id := range []string{"n1", "n2"} {
		eventuallyTrue(t, id+" says what to do",
			func() bool {
				_, reasons := c.nodes[id].Ready()
				return slices.Contains(reasons, rollback.IfAllRestored)
			})
	}
	c.killAll()
	for _, id := range ids(3) {
		for _, name := range []string{raftlog.MarkName, rollback.FileName} {
			if err := os.Remove(filepath.Join(c.dir, id, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, id := range ids(3) {
		c.start(id)
	}
	c.leader()
	c.killAll() // a node that had more than the others that elected the leader may have stopped
}

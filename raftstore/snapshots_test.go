package raftstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/turn"
)

// smallLog keeps next to nothing of the log behind a snapshot.
func smallLog(cfg *Config) { cfg.Storage.TailBytes = 1 }

// calm has nodes wait longer for a leader, and callers for an outcome, than a busy
// machine keeps them from running.
func calm(cfg *Config) {
	cfg.Calls.LeaderWait, cfg.Calls.OutcomeWait = time.Minute, 2*time.Minute
	cfg.Consensus.Heartbeat, cfg.Consensus.Election, cfg.Consensus.Lease = 2*time.Second, 2*time.Second,
		1500*time.Millisecond
}

// A node that was away while the log behind it was dropped gets a snapshot, and
// has the same state as the others afterwards.
func TestSnapshotInstall(t *testing.T) {
	for _, engine := range []string{"wal", "boltdb"} {
		t.Run(engine, func(t *testing.T) {
			c := newCluster(t, 3, smallLog, calm, func(cfg *Config) { cfg.Log.Engine = engine })
			c.leader()
			c.ready()
			away := c.follower()
			put(t, away, "s", "before")
			c.kill(away.id)
			leader := c.leader() // only now: it may be another than before
			for i := range 50 {
				put(t, leader, fmt.Sprint("s", i%7), strings.Repeat("x", 1000))
			}
			c.cutLogs(40)
			writes := startWriters(t, "w", 4, func(int, int) *running { return leader })
			back := c.start(away.id)
			eventuallyTrue(t, "a snapshot is installed", func() bool { return back.Stats().Snapshots.Installed > 0 })
			put(t, back, "s", "after")
			writes.end()
			writes.check(back)
			c.sameState()
			if got := texts(t, back, "s", turn.Linearizable); len(got) != 2 {
				t.Fatalf("read %v", got)
			}
			c.kill(away.id) // and once more from what it has on disk
			c.start(away.id)
			c.sameState()
		})
	}
}

// A snapshot takes the place of entries that other ones took the place of: the node keeps none of them, and
// goes on behind the snapshot.
func TestSnapshotOverAStaleEnd(t *testing.T) {
	w := newWires()
	c := newCluster(t, 3, w.option, patient, smallLog)
	defer c.killAll()
	others := []string{"n2", "n3"}
	a := c.elect("n1")
	put(t, a, "s", "common")
	c.recordedAll() // the leader has nothing more to propose by itself, which could reach n3 and not n2
	c.atLevel(turn.NewestLevel)
	c.level()
	c.isolate(w, "n1", others, true)
	_, term, _ := a.raft.State()
	stale := a.data.Log.LastDurable() + 40
	for range 40 {
		entry := raftlog.NewProposal(term, codec.AppendEntry(nil, 0, nil))
		a.raft.Load().ApplyLog(entry, 0)
	}
	eventuallyTrue(t, "the old leader has entries of its own", func() bool { return a.data.Log.LastDurable() >= stale })
	b := c.elect("n2")
	for range 20 {
		put(t, b, "s", "new")
	}
	for _, id := range others {
		c.cutLog(c.nodes[id], stale-30)
	}
	if first := b.Stats().Log.First; first > stale {
		t.Fatalf("the log of %s begins at %d: the test shows nothing", b.id, first)
	}
	c.isolate(w, "n1", others, false)
	eventuallyTrue(t, "a snapshot is installed", func() bool { return a.Stats().Snapshots.Installed > 0 })
	if first := a.Stats().Log.First; first != 0 && first <= a.data.Snapshots.Position().Index {
		t.Errorf("the log begins at %d, the snapshot ends at %v", first, a.data.Snapshots.Position())
	}
	put(t, a, "s", "end")
	c.sameState()
	if got := len(texts(t, a, "s", turn.Stale)); got != 22 {
		t.Errorf("read %d messages", got)
	}
}

// cutLogs drops the log before an entry on all running nodes, whichever will lead.
// One that lagged behind those whose logs are cut first would be sent a snapshot, and stand there with no log at all.
func (c *cluster) cutLogs(before uint64) {
	c.t.Helper()
	c.level()
	for _, r := range c.nodes {
		c.cutLog(r, before)
	}
}

func (c *cluster) cutLog(r *running, before uint64) {
	c.t.Helper()
	eventuallyTrue(c.t, fmt.Sprintf("the log of %s begins at %d or later", r.id, before), func() bool {
		_ = r.Snapshot(c.t.Context()) // a follower may have to wait for what is committed
		stats := r.Stats()
		return stats.Log.First >= before || stats.Log.Last == 0 && r.data.Snapshots.Position().Index >= before
	})
}

// Compaction by itself, while writes go on; then every node restarts from what
// is left.
func TestCompactionWhileWriting(t *testing.T) {
	c := newCluster(t, 3, func(cfg *Config) {
		cfg.Storage.CompactBytes, cfg.Storage.TailBytes = 64<<10, 16<<10
		cfg.Storage.CheckEvery = 1e7
	})
	leader := c.leader()
	for i := range 300 {
		put(t, leader, fmt.Sprint("s", i%10), strings.Repeat("y", 4000))
	}
	// More writes, since a log that stayed longer for a node that lagged is not compacted
	// again before there is enough of it.
	eventuallyTrue(t, "all nodes compact", func() bool {
		put(t, leader, "more", strings.Repeat("y", 4000))
		for _, r := range c.nodes {
			if s := r.Stats(); s.Snapshots.Taken == 0 || s.Log.First < 200 {
				return false
			}
		}
		return true
	})
	for _, id := range ids(3) {
		c.kill(id)
	}
	for _, id := range ids(3) {
		c.start(id)
	}
	if got := texts(t, c.leader(), "s3", turn.Linearizable); len(got) != 30 {
		t.Fatalf("%d messages after the restart", len(got))
	}
	c.sameState()
}

// A snapshot that was listed and then replaced is not opened as if it were the one
// that took its place.
func TestReplacedSnapshotIsNotOpened(t *testing.T) {
	c := newCluster(t, 1)
	n := c.leader()
	put(t, n, "s", "x")
	if err := n.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	list, err := n.data.Snapshots.List()
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	put(t, n, "s", "y")
	if err := n.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	if meta, r, err := n.data.Snapshots.Open(list[0].ID); err == nil {
		_ = r.Close()
		t.Fatalf("asked for snapshot %s, the store opened %s", list[0].ID, meta.ID)
	}
}

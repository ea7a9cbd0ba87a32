package raftstore

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/internal/datadir"
	"github.com/turnlog/turnlog/internal/identity"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/vfs"
	"github.com/turnlog/turnlog/turn"
	"github.com/turnlog/turnlog/wal"
)

// rotLog flips a bit in the middle of a log, which is not its end.
func rotLog(t *testing.T, dir string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, raftlog.WALName, "*.seg"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if used := len(bytes.TrimRight(b, "\x00")); used > 4096 { // else it is prepared and unused
			b[4096+(used-4096)/2] ^= 4
			if err := os.WriteFile(name, b, 0o600); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("there is nothing in %v", names)
}

// healed waits until a node with a new log has again what the old one had.
func (c *cluster) healed(r *running) {
	c.t.Helper()
	eventuallyTrue(c.t, r.id+" has again what it had", func() bool {
		_, missing := r.data.Mark.Lost()
		return !missing
	})
	eventuallyTrue(c.t, "the damaged log is gone", func() bool {
		_, err := os.Stat(filepath.Join(c.dir, r.id, raftlog.DamagedName))
		return errors.Is(err, os.ErrNotExist)
	})
	c.ready()
	c.sameState()
}

// A log that is damaged, wherever, is replaced while the others go on, and without help.
func TestDamagedLogIsReplaced(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, dir string){
		"middle": rotLog,
		"manifest": func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, raftlog.WALName, "manifest"), make([]byte, 8192),
				0o600); err != nil {
				t.Fatal(err)
			}
		},
		"segment lost": func(t *testing.T, dir string) {
			names, _ := filepath.Glob(filepath.Join(dir, raftlog.WALName, "*.seg"))
			slices.Sort(names)
			if err := os.Remove(names[0]); err != nil {
				t.Fatal(err)
			}
		},
		"putting aside interrupted": func(t *testing.T, dir string) {
			rotLog(t, dir)
			if err := os.Rename(filepath.Join(dir, raftlog.WALName),
				filepath.Join(dir, raftlog.DamagedName)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		for _, role := range []string{"leader", "follower"} {
			t.Run(name+" of a "+role, func(t *testing.T) {
				c := newCluster(t, 3)
				id := c.leader().id
				c.ready()
				c.recordedAll()
				if role == "follower" {
					id = c.follower().id
				}
				for i := range 20 {
					put(t, c.leader(), "s", fmt.Sprint("before", i))
				}
				c.level()
				for _, r := range c.nodes { // so that each knows the members beside its log
					if err := r.Snapshot(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				for i := range 20 {
					put(t, c.leader(), "s", fmt.Sprint("after", i))
				}
				c.kill(id)
				damage(t, filepath.Join(c.dir, id))
				others := c.leader()
				writes := startWriters(t, "w", 3, func(int, int) *running { return others })
				n := c.open(id)
				if l, missing := n.data.Mark.Lost(); !missing || l.Doubt == 0 {
					t.Errorf("the node that lost its log believes that it lacks %v", l)
				}
				r := c.run(n)
				c.healed(r)
				writes.end()
				writes.check(r)
				if got := texts(t, r, "s", turn.Linearizable); len(got) != 40 {
					t.Errorf("%d messages of 40 are there", len(got))
				}
				c.forget(id)
				c.healed(c.nodes[id])
			})
		}
	}
}

// What was lost with a damaged log, this node votes for no candidate without.
func TestDamagedLogLosesNothing(t *testing.T) {
	w := newWires()
	c := newCluster(t, 3, w.option)
	divided(c, w, c.recordedAll)
	mark := c.nodes["n2"].data.Mark.Position()
	c.killBoth()
	rotLog(t, filepath.Join(c.dir, "n2"))
	lostEntry(c, w, mark, true)
}

// A bit of an entry that was compacted away is of no consequence: the node has its whole log, is in no doubt, and
// nothing is put aside.
func TestDamageOfCompactedEntries(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			c := newCluster(t, nodes, func(cfg *Config) { cfg.Storage.TailBytes = 1 })
			id := c.leader().id
			c.ready()
			for i := range 30 {
				put(t, c.nodes[id], "s", fmt.Sprint(i))
			}
			c.cutLogs(20)
			put(t, c.nodes[id], "s", "30")
			c.stop(id)
			dir := filepath.Join(c.dir, id)
			rotEntry(t, dir, 10)
			n := c.open(id)
			if l, missing := n.data.Mark.Lost(); missing {
				t.Errorf("the node believes that it lacks %v", l)
			}
			r := c.run(n)
			c.leader()
			c.ready()
			c.sameState()
			if got := texts(t, r, "s", turn.Linearizable); len(got) != 31 {
				t.Errorf("%d messages of 31 are there", len(got))
			}
			if _, err := os.Stat(filepath.Join(dir, raftlog.DamagedName)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s: %v", raftlog.DamagedName, err)
			}
		})
	}
}

// rotEntry flips a bit of one entry in the log of a node that is down.
func rotEntry(t *testing.T, dir string, index uint64) {
	t.Helper()
	folder, found := filepath.Join(dir, raftlog.WALName), false
	report, err := wal.Walk(folder, wal.Options{}, func(b wal.Batch) error {
		if index < b.Index || index >= b.Index+uint64(b.Count) {
			return nil
		}
		found = true
		f, err := os.OpenFile(filepath.Join(folder, fmt.Sprintf("%020d.seg", b.Segment)), os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		last := []byte{0}
		if _, err := f.ReadAt(last, b.Offset+b.Bytes-1); err != nil {
			return err
		}
		last[0] ^= 4
		_, err = f.WriteAt(last, b.Offset+b.Bytes-1)
		return err
	})
	if err != nil || !found || index >= report.FirstIndex {
		t.Fatalf("no dropped entry was damaged: %v, the log begins at %d: %v", found, report.FirstIndex, err)
	}
}

// If the others are no majority, no node could replace what is lost, and the log stays.
func TestDamagedLogWithoutOthersIsRefused(t *testing.T) {
	for _, nodes := range []int{1, 2} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			c := newCluster(t, nodes)
			id := c.leader().id
			c.ready()
			for i := range 10 {
				put(t, c.leader(), "s", fmt.Sprint(i))
			}
			c.killAll()
			dir := filepath.Join(c.dir, id)
			rotLog(t, dir)
			_, err := Open(c.config(id))
			if err == nil || !strings.Contains(err.Error(), "remove the node from the cluster") {
				t.Fatal(err)
			}
			for _, name := range []string{raftlog.DamagedName, "new-log"} {
				if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s: %v", name, err)
				}
			}
			if l, missing := markLoss(t, dir); missing {
				t.Errorf("a loss was noted of a log that is still there: %v", l)
			}
		})
	}
}

// markLoss reads what the mark of a node that is down says.
func markLoss(t *testing.T, dir string) (raftlog.Loss, bool) {
	t.Helper()
	i, err := identity.Open(dir, filepath.Base(dir), datadir.Reseed, testLogger())
	if err != nil {
		t.Fatal(err)
	}
	h, err := raftlog.OpenHighWater(vfs.OS{}, dir, i.Get().Incarnation, func(err error) { t.Fatal(err) }, testLogger())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	return h.Lost()
}

// The readable start of a damaged log may tell of members that were removed since: the
// state, which records the members, decides. A node that is the last one left has no other
// to send it the rest, and of two neither has.
func TestDamagedLogAfterRemovalsIsRefused(t *testing.T) {
	for _, left := range []int{1, 2} {
		t.Run(fmt.Sprint(left), func(t *testing.T) {
			c := newCluster(t, 3)
			c.ready()
			c.recordedAll()
			for i := range 60 { // so that the damage comes before the removals
				put(t, c.leader(), "s", fmt.Sprintf("%d %01000d", i, 0))
			}
			for _, id := range ids(3)[left:] {
				c.change(func(leader *running) error { return leader.members.RemoveNode(t.Context(), id) })
				if err := c.ended(c.nodes[id]); !errors.Is(err, ErrRemoved) {
					t.Fatalf("the removed node ends with: %v", err)
				}
				delete(c.addrs, id)
			}
			c.recordedAll()
			for i := range 5 {
				put(t, c.nodes["n1"], "s", fmt.Sprint("after ", i))
			}
			c.killAll()
			dir := filepath.Join(c.dir, "n1")
			rotLog(t, dir)
			n, err := Open(c.config("n1"))
			if err == nil {
				defer n.Close()
				t.Fatalf("it opens, and waits for those of %v", n.data.LastServers())
			}
			if !strings.Contains(err.Error(),
				fmt.Sprintf("of %d voters, as far as is known, %d are other nodes", left, left-1)) {
				t.Errorf("it does not open: %v", err)
			}
			if _, err := os.Stat(filepath.Join(dir, raftlog.DamagedName)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the log was put aside: %v", err)
			}
			if l, missing := markLoss(t, dir); missing {
				t.Errorf("a loss was noted of a log that is still there: %v", l)
			}
		})
	}
}

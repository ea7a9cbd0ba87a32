package raftstore

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// disks are the free bytes of the disks of a cluster's nodes.
type disks map[string]*atomic.Uint64

const plenty = 1 << 40

// newSpaceCluster is a cluster of three whose disks have as much space as a test says.
func newSpaceCluster(t *testing.T, options ...func(*Config)) (*cluster, disks) {
	d := disks{"n1": new(atomic.Uint64), "n2": new(atomic.Uint64), "n3": new(atomic.Uint64)}
	d.set(plenty, "n1", "n2", "n3")
	return newCluster(t, 3, append(options, func(cfg *Config) {
		free := d[cfg.NodeID]
		cfg.Storage.ReserveBytes, cfg.Storage.CheckEvery = 64<<20, 5*time.Millisecond
		cfg.Storage.FreeBytes = func(string) (uint64, error) { return free.Load(), nil }
	})...), d
}

func (d disks) set(free uint64, ids ...string) {
	for _, id := range ids {
		d[id].Store(free)
	}
}

// rejecting waits until all nodes know whether writes that need space are rejected.
func (c *cluster) rejecting(want bool) {
	c.t.Helper()
	for id, r := range c.nodes {
		eventuallyTrue(c.t, fmt.Sprintf("%s rejects writes that need space: %v", id, want),
			func() bool { return r.Stats().Disk.ReadOnly == want })
	}
}

func TestFullDiskCanBeEmptied(t *testing.T) {
	c, d := newSpaceCluster(t)
	for _, name := range []string{"a", "b", "c", "d", "e", "f/1", "g"} {
		put(t, c.leader(), name, "1", "2", "3", "4")
	}
	d.set(63<<20, "n1", "n2", "n3")
	c.rejecting(true)
	frees := []turn.Op{
		&turn.Trim{Key: key("a"), By: turn.KeepLast, N: 2},
		&turn.Clear{Key: key("b")},
		&turn.Pop{Key: key("c"), Count: 1},
		&turn.Replace{Key: key("d"), From: 3},
		&turn.Expire{Key: key("e"), HasTTL: true, TTL: 1},
		&turn.Erase{Namespace: "0", Prefix: "f/", Limit: 10},
		&turn.Tx{Steps: []turn.Step{{Op: &turn.Trim{Key: key("a"), By: turn.KeepLast, N: 1}},
			{Query: &turn.Read{Key: key("a")}}}},
		&turn.Delete{Keys: []turn.Key{key("g")}},
	}
	grow := []turn.Op{
		appendOp("a", "x"),
		&turn.SetMetadata{Key: key("new"), Set: map[string]string{"a": "b"}},
		&turn.Tx{Steps: []turn.Step{{Op: &turn.Delete{Keys: []turn.Key{key("a")}}}, {Op: appendOp("a", "x")}}},
	}
	for _, r := range []*running{c.leader(), c.follower()} {
		for _, op := range frees {
			if _, err := r.Apply(t.Context(), op); err != nil {
				t.Errorf("%T at %s: %v", op, r.id, err)
			}
		}
		for _, op := range grow {
			_, err := r.Apply(t.Context(), op)
			kindIs(t, err, turn.ReadOnly)
		}
	}
	if got := texts(t, c.follower(), "a", turn.Linearizable); len(got) != 1 {
		t.Errorf("trimmed to %v", got)
	}
	d.set(plenty, "n1", "n2", "n3")
	c.rejecting(false)
	put(t, c.follower(), "a", "x")
	c.sameState()
}

// Deletions are admitted though they share batches with writes that are rejected.
func TestDeletionsBesideRejectedWrites(t *testing.T) {
	c, d := newSpaceCluster(t)
	for i := range 200 {
		put(t, c.leader(), fmt.Sprint("s", i), "x")
	}
	d.set(1<<20, "n1", "n2", "n3")
	f := c.follower()
	eventuallyTrue(t, "the leader rejects", func() bool { return c.leader().Stats().Disk.ReadOnly })
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 50 {
				grow := f.Submit(t.Context(), appendOp("s", "x"))
				free := f.Submit(t.Context(), &turn.Delete{Keys: []turn.Key{key(fmt.Sprint("s", w*50+i))}})
				if _, err := grow.Wait(); turn.KindOf(err) != turn.ReadOnly {
					t.Errorf("append: %v", err)
				}
				if r, err := free.Wait(); err != nil || r.Removed != 1 {
					t.Errorf("delete: %d, %v", r.Removed, err)
				}
			}
		})
	}
	wg.Wait()
}

// Where a quorum cannot do without a follower whose disk is full, the leader
// rejects what needs space, and every node says so.
func TestFollowersWithoutSpace(t *testing.T) {
	c, d := newSpaceCluster(t, patient) // no leader with a full disk takes over
	defer c.killAll()
	c.elect("n1")
	put(t, c.leader(), "s", "x")
	c.ready()
	d.set(1<<20, "n2", "n3")
	c.rejecting(true)
	for id, r := range c.nodes {
		ok, why := r.Ready()
		if ok || !strings.Contains(strings.Join(why, "; "), "MiB") {
			t.Errorf("%s: ready %v, %q", id, ok, why)
		}
		_, err := r.Apply(t.Context(), appendOp("s", "y"))
		kindIs(t, err, turn.ReadOnly)
	}
	d.set(plenty, "n2") // now there is a majority with space
	c.rejecting(false)
	put(t, c.leader(), "s", "y")
	c.kill("n2") // and now there is not
	c.rejecting(true)
	d.set(plenty, "n3")
	c.rejecting(false)
	put(t, c.leader(), "s", "z")
	c.ready()
}

// A leader whose disk is full hands over to a node with space.
func TestLeaderWithoutSpaceHandsOver(t *testing.T) {
	c, d := newSpaceCluster(t)
	c.leadBy("n1")
	put(t, c.leader(), "s", "x")
	c.ready()
	writes := startWriters(t, "w", 3, func(i, _ int) *running { return c.nodes[[]string{"n1", "n2", "n3"}[i]] })
	d.set(1<<20, "n1", "n2")
	d.set(plenty, "n2")
	eventuallyTrue(t, "n2 or n3 leads",
		func() bool { id, _ := c.nodes["n3"].lead.Leader(); return id == "n2" || id == "n3" })
	for _, r := range c.nodes {
		put(t, r, "s", "y")
	}
	if _, unsure, refused := writes.end(); unsure+refused > 0 {
		t.Errorf("%d writes were rejected, %d are uncertain", refused, unsure)
	}
	writes.check(c.nodes["n2"])
}

// A disk without inodes is as full as one without bytes.
func TestNoInodes(t *testing.T) {
	var files atomic.Uint64
	files.Store(1 << 20)
	c := newCluster(t, 1, func(cfg *Config) {
		cfg.Storage.CheckEvery = 5 * time.Millisecond
		cfg.Storage.FreeFiles = func(string) (uint64, bool, error) { return files.Load(), true, nil }
	})
	put(t, c.leader(), "s", "x")
	files.Store(10)
	c.rejecting(true)
	_, err := c.leader().Apply(t.Context(), appendOp("s", "y"))
	kindIs(t, err, turn.ReadOnly)
	if !strings.Contains(err.Error(), "inodes") {
		t.Errorf("%v", err)
	}
	files.Store(1 << 20)
	c.rejecting(false)
	put(t, c.leader(), "s", "y")
}

// A write for which the log has no room on a disk that is not short is rejected: it ends no leader's term.
func TestWriteLargerThanTheRoomOfTheLog(t *testing.T) {
	c, d := newSpaceCluster(t, patient)
	c.elect("n1")
	c.ready()
	mib := strings.Repeat("x", 1<<20)
	for range 12 { // so that the log is no short one, which would not ask
		put(t, c.leader(), "s", mib[:1<<19])
	}
	c.ready()
	for _, r := range c.nodes { // what is on its way to the disk counts as taken
		if err := r.data.State.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	before := c.leader()
	term, _ := before.lead.Serves()
	d.set(68<<20, "n1", "n2", "n3")
	for range 3 {
		_, err := before.Apply(t.Context(), appendOp("s", mib, mib, mib, mib, mib, mib, mib, mib))
		kindIs(t, err, turn.ReadOnly)
	}
	put(t, before, "s", "y")
	if now, _ := before.lead.Serves(); now != term {
		t.Errorf("it led in term %d; now its term is %d", term, now)
	}
	d.set(plenty, "n1", "n2", "n3")
	put(t, before, "s", mib, mib, mib, mib, mib, mib, mib, mib)
	c.sameState()
}

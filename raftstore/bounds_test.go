package raftstore

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/vfs/simdisk"
	"github.com/turnlog/turnlog/internal/vote"
	"github.com/turnlog/turnlog/turn"
)

func kindIs(t *testing.T, err error, want turn.Kind) {
	t.Helper()
	if err == nil || turn.KindOf(err) != want {
		t.Fatalf("got %v, want %v", err, want)
	}
}

func TestOverload(t *testing.T) {
	c := newCluster(t, 3, patient, func(cfg *Config) {
		cfg.Calls = CallBounds{MaxBytes: 100 << 10, MaxCalls: 20, LeaderWait: time.Minute, OutcomeWait: time.Minute}
	})
	defer c.killAll()
	n := c.nodes["n1"] // there is no leader: nothing gets on
	for range 20 {
		n.Submit(t.Context(), appendOp("s", "x"))
	}
	_, err := n.Apply(t.Context(), appendOp("s", "x"))
	kindIs(t, err, turn.Overloaded)
	m := c.nodes["n2"]
	m.Submit(t.Context(), appendOp("big", strings.Repeat("x", 90<<10)))
	_, err = m.Apply(t.Context(), appendOp("big", strings.Repeat("x", 20<<10)))
	kindIs(t, err, turn.Overloaded)
	big := m.Submit(t.Context(), &turn.Clear{Key: key("big")})

	c.elect("n3")
	if _, err := big.Wait(); err != nil {
		t.Fatalf("a call that was queued before the election: %v", err)
	}
	eventuallyTrue(t, "what was accepted is written",
		func() bool { return len(texts(t, n, "s", turn.Linearizable)) >= 20 })
}

func TestNoLeader(t *testing.T) {
	c := newCluster(t, 3, patient, func(cfg *Config) { cfg.Calls.LeaderWait = 100 * time.Millisecond })
	defer c.killAll()
	n := c.nodes["n1"]
	began := time.Now()
	_, err := n.Apply(t.Context(), appendOp("s", "x"))
	kindIs(t, err, turn.Unavailable)
	if took := time.Since(began); took < 100*time.Millisecond || took > hang/2 {
		t.Fatalf("it took %v", took)
	}
	_, err = n.Query(t.Context(), &turn.Info{Key: key("s")}, turn.Consistency{})
	kindIs(t, err, turn.Unavailable)
	_, err = n.Query(t.Context(), &turn.Info{Key: key("s")}, turn.Consistency{Level: turn.Stale})
	kindIs(t, err, turn.Unavailable) // no member has a state yet
	ctx, cancel := context.WithCancel(t.Context())
	call := n.Submit(ctx, appendOp("s", "x"))
	cancel()
	_, err = call.Wait()
	kindIs(t, err, turn.Unavailable) // it was never sent
	if ok, reasons := n.Ready(); ok || !strings.Contains(strings.Join(reasons, ";"), "no leader") {
		t.Fatalf("ready: %v, %v", ok, reasons)
	}
	_, err = n.Apply(t.Context(), &turn.Append{Key: key("s")})
	kindIs(t, err, turn.Invalid)
}

// putPatiently is put where calls wait for less time than a busy machine may take: some may be made again.
func putPatiently(t *testing.T, r *running, name, data string) {
	t.Helper()
	eventuallyTrue(t, "a write is acknowledged", func() bool {
		_, err := r.Apply(t.Context(), appendOp(name, data))
		return err == nil
	})
}

// A member that is alone answers stale reads from the state that it has.
func TestStaleReadsNeedNoLeader(t *testing.T) {
	c := newCluster(t, 3, func(cfg *Config) { cfg.Calls.LeaderWait = 100 * time.Millisecond })
	defer c.killAll()
	putPatiently(t, c.leader(), "s", "x")
	c.recordedAll()
	c.sameState()
	for _, id := range []string{"n2", "n3"} {
		c.kill(id)
	}
	n := c.nodes["n1"]
	eventuallyTrue(t, "there is no leader", func() bool {
		_, err := n.Query(t.Context(), &turn.Info{Key: key("s")}, turn.Consistency{})
		return turn.KindOf(err) == turn.Unavailable
	})
	if got := texts(t, n, "s", turn.Stale); len(got) == 0 {
		t.Errorf("a stale read shows %q", got)
	}
}

// A call that reached a leader which then falls silent has no known outcome.
func TestUnknownOutcome(t *testing.T) {
	w := newWires()
	c := newCluster(t, 3, patient, w.option, func(cfg *Config) {
		cfg.Calls.LeaderWait, cfg.Calls.OutcomeWait = time.Second, 1500*time.Millisecond
	})
	defer c.killAll()
	a := c.elect("n1")
	putPatiently(t, a, "s", "x")
	// The leader has nothing left to propose by itself, behind which the call would wait.
	c.recordedAll()
	c.atLevel(turn.NewestLevel)
	c.isolate(w, "n1", []string{"n2", "n3"}, true)
	before := a.Stats().Calls.Unknown
	_, err := a.Apply(t.Context(), appendOp("s", "y"))
	kindIs(t, err, turn.Unknown)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = a.Apply(ctx, appendOp("s", "y"))
	kindIs(t, err, turn.Unavailable) // it waited behind the first one, and was not sent
	if n := a.Stats().Calls.Unknown - before; n != 1 {
		t.Fatalf("%d unknown outcomes are counted", n)
	}
}

// While the disks are full, writes are rejected and reads work; when there
// is space again, so do writes.
func TestDiskFull(t *testing.T) {
	var free, looks atomic.Uint64
	free.Store(1 << 40)
	c := newCluster(t, 3, func(cfg *Config) {
		cfg.Storage.ReserveBytes, cfg.Storage.CheckEvery = 64<<20, 5*time.Millisecond
		cfg.Storage.FreeBytes = func(string) (uint64, error) {
			looks.Add(1)
			return free.Load(), nil
		}
	})
	leader, f := c.pair()
	put(t, f, "s", "x")
	free.Store(63 << 20)
	c.rejecting(true)
	for _, r := range []*running{leader, f} {
		_, err := r.Apply(t.Context(), appendOp("s", "y"))
		kindIs(t, err, turn.ReadOnly)
		if got := texts(t, r, "s", turn.Linearizable); len(got) != 1 {
			t.Fatalf("read %v", got)
		}
	}
	free.Store(80 << 20) // more than the reserve, but not by half
	enough := looks.Load() + 30
	eventuallyTrue(t, "the nodes have looked again", func() bool { return looks.Load() >= enough })
	_, err := f.Apply(t.Context(), appendOp("s", "y"))
	kindIs(t, err, turn.ReadOnly)
	free.Store(1 << 30)
	c.rejecting(false)
	put(t, f, "s", "z")
	c.sameState()
}

// A follower whose log has no room lags, and catches up when there is room.
func TestFollowerWithoutSpaceHeals(t *testing.T) {
	disk := simdisk.New()
	c := newCluster(t, 3, func(cfg *Config) {
		if cfg.NodeID == "n3" {
			cfg.Log.Disk, cfg.Storage.SegmentBytes = disk, 64<<10
		}
	})
	c.leadBy("n1")
	put(t, c.leader(), "s", "x")
	c.level()
	disk.SetCapacity(512 << 10)
	for range 100 {
		put(t, c.leader(), "s", strings.Repeat("x", 10<<10))
	}
	disk.SetCapacity(1 << 30)
	eventuallyTrue(t, "the follower catches up", func() bool {
		return c.nodes["n3"].data.Log.LastDurable() == c.leader().data.Log.LastDurable()
	})
	c.sameState()
}

// A disk that fails while a node starts ends Run with the reason, and everything is closed: the directory can be
// opened again at once.
func TestFailureWhileStartingClosesAll(t *testing.T) {
	disk, dir := simdisk.New(), t.TempDir()
	open := func() *Node {
		t.Helper()
		n, err := Open(Config{NodeID: "n1", DataDir: dir, Peers: Peers{Addr: "127.0.0.1:0"}, Log: Log{Disk: disk},
			Logger: testLogger()})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	n := open()
	disk.Fail(func(op simdisk.Op) error {
		if op.Kind == simdisk.Write && strings.HasPrefix(filepath.Base(op.Name), vote.FileName) {
			return syscall.EIO
		}
		return nil
	})
	if err := n.Run(t.Context()); !errors.Is(err, syscall.EIO) {
		t.Fatalf("the node whose vote cannot be written ended with %v", err)
	}
	disk.Fail(nil)
	if err := open().Close(); err != nil {
		t.Error(err)
	}
}

// A failed write to the log stops the node; the others go on, and it comes back.
func TestFailedLogWriteStopsTheNode(t *testing.T) {
	disk := simdisk.New()
	own := func(cfg *Config) {
		if cfg.NodeID == "n3" {
			cfg.Log.Disk = disk
		}
	}
	c := newCluster(t, 3, own)
	c.leadBy("n3")
	c.ready()
	n3 := c.nodes["n3"]
	others := []*running{c.nodes["n1"], c.nodes["n2"]}
	writes := startWriters(t, "w", 4, func(i, _ int) *running { return others[i%2] })
	writes.begun()
	disk.Fail(func(op simdisk.Op) error {
		if op.Kind == simdisk.Sync {
			return syscall.EIO
		}
		return nil
	})
	// Mostly of the log; its high-water mark is synced, too, each second.
	if err := c.ended(n3); !errors.Is(err, syscall.EIO) {
		t.Fatalf("the node ends with: %v", err)
	}
	put(t, c.nodes["n1"], "s", "x")
	if _, unsure, refused := writes.end(); unsure+refused > 0 {
		t.Fatal("a caller at another node noticed")
	}
	writes.check(c.nodes["n1"])
	disk.Fail(nil)
	c.start("n3")
	c.sameState()
	writes.check(c.nodes["n3"])
}

// A disk that takes its time makes a leader hand over; one that hangs stops it.
func TestSlowDisk(t *testing.T) {
	disk := simdisk.New()
	c := newCluster(t, 3, func(cfg *Config) {
		cfg.Storage.SlowSync, cfg.Storage.StuckSync = 100*time.Millisecond, time.Second
		if cfg.NodeID == "n3" {
			cfg.Log.Disk = disk
		}
	})
	c.leadBy("n3")
	c.ready()
	n3 := c.nodes["n3"]
	var pause atomic.Int64
	pause.Store(int64(300 * time.Millisecond))
	disk.Fail(func(op simdisk.Op) error {
		if op.Kind == simdisk.Sync {
			time.Sleep(time.Duration(pause.Load()))
		}
		return nil
	})
	put(t, c.nodes["n1"], "s", "x")
	eventuallyTrue(t, "another node leads",
		func() bool { id, _ := c.nodes["n1"].lead.Leader(); return id != "" && id != "n3" })
	pause.Store(int64(3 * time.Second))
	put(t, c.nodes["n1"], "s", "y")
	if err := c.ended(n3); err == nil || !strings.Contains(err.Error(), "seems to hang") {
		t.Fatalf("the node ends with: %v", err)
	}
	put(t, c.nodes["n1"], "s", "z")
}

package raftstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/smallfile"
	"github.com/turnlog/turnlog/turn"
)

// smallLog keeps next to nothing of the log behind a snapshot.
func smallLog(cfg *Config) { cfg.Storage.TailBytes = 1 }

// calm has nodes wait longer for a leader, and callers for an outcome, than a busy
// machine keeps them from running.
func calm(cfg *Config) {
	cfg.Calls.LeaderWait, cfg.Calls.OutcomeWait = time.Minute, 2*time.Minute
	cfg.Consensus.Heartbeat, cfg.Consensus.Election, cfg.Consensus.Lease = 2*time.Second, 2*time.Second, 1500*time.Millisecond
}

// A node that was away while the log behind it was dropped gets a snapshot, and
// has the same state as the others afterwards.
func TestSnapshotInstall(t *testing.T) {
	for _, engine := range []string{"wal", "boltdb"} {
		t.Run(engine, func(t *testing.T) {
			c := newCluster(t, 3, smallLog, calm, func(cfg *Config) { cfg.LogEngine = engine })
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
			eventuallyTrue(t, "a snapshot is installed", func() bool { return back.Stats().SnapshotsInstalled > 0 })
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

// cutLogs drops the log before an entry on all running nodes, whichever will lead.
func (c *cluster) cutLogs(before uint64) {
	c.t.Helper()
	for id, r := range c.nodes {
		eventuallyTrue(c.t, fmt.Sprintf("the log of %s begins at %d or later", id, before), func() bool {
			_ = r.Snapshot(c.t.Context()) // a follower may have to wait for what is committed
			return r.Stats().FirstIndex >= before
		})
	}
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
			if s := r.Stats(); s.SnapshotsTaken == 0 || s.FirstIndex < 200 {
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

// storeWith returns a snapshot store over a state that has applied n entries.
func storeWith(t *testing.T, dir string, n uint64) (*snapshotStore, *fsm.Machine) {
	t.Helper()
	m, err := fsm.Open(fsm.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	for i := uint64(1); i <= n; i++ {
		op, err := codec.EncodeOp(appendOp("s", fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		m.Apply(i, 1, codec.AppendEntry(nil, int64(i), []codec.Command{{Origin: 9, Number: i, Op: op}}))
	}
	if err := m.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err := openSnapshots(filepath.Join(dir, "snapshots"), m, 0, systemClock{}, testLogger())
	if err != nil {
		t.Fatal(err)
	}
	return s, m
}

func servers(n int) (c raft.Configuration) {
	for _, id := range ids(n) {
		c.Servers = append(c.Servers, raft.Server{ID: raft.ServerID(id), Address: "a"})
	}
	return c
}

// takeLocal makes a marker at index.
func takeLocal(t *testing.T, s *snapshotStore, index uint64) error {
	t.Helper()
	sink, err := s.Create(1, index, 1, servers(3), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := (flushSnapshot{&applier{state: s.state, ctx: t.Context()}}).Persist(sink); err != nil {
		t.Fatal(err)
	}
	return sink.Close()
}

// receive feeds one store's snapshot to another, as Raft does, up to a point.
func receive(t *testing.T, from, to *snapshotStore, closeIt bool) {
	t.Helper()
	list, err := from.List()
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	meta, r, err := from.Open(list[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	sink, err := to.Create(meta.Version, meta.Index, meta.Term, meta.Configuration, meta.ConfigurationIndex, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1000)
	var size int64
	for {
		n, err := r.Read(b)
		if _, err := sink.Write(b[:n]); err != nil {
			t.Fatal(err)
		}
		size += int64(n)
		if err != nil {
			break
		}
	}
	if size != meta.Size {
		t.Fatalf("the stream has %d bytes, %d were announced", size, meta.Size)
	}
	if closeIt {
		if err := sink.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A snapshot that comes in survives a crash after each of its steps.
func TestReceivedSnapshotAndCrashes(t *testing.T) {
	from, _ := storeWith(t, t.TempDir(), 20)
	if err := takeLocal(t, from, 15); err != nil {
		t.Fatal(err)
	}
	reopen := func(dir string, m *fsm.Machine) (*snapshotStore, *fsm.Machine) {
		_ = m.Close()
		return storeWith(t, dir, 0)
	}
	check := func(t *testing.T, s *snapshotStore, m *fsm.Machine, index uint64) {
		t.Helper()
		if err := s.adopt(); err != nil {
			t.Fatal(err)
		}
		if have, _ := m.Durable(); have != index {
			t.Fatalf("the state ends at %d, want %d", have, index)
		}
		left, _ := filepath.Glob(filepath.Join(s.dir, "*"))
		for _, f := range left {
			if name := filepath.Base(f); name != markerName && name != smallfile.SecondCopy(markerName) {
				t.Fatalf("%s is left over", f)
			}
		}
	}
	t.Run("in the middle", func(t *testing.T) {
		dir := t.TempDir()
		to, m := storeWith(t, dir, 3)
		receive(t, from, to, false)
		to, m = reopen(dir, m)
		check(t, to, m, 3)
	})
	t.Run("between file and marker", func(t *testing.T) {
		dir := t.TempDir()
		to, m := storeWith(t, dir, 3)
		receive(t, from, to, true)
		if err := errors.Join(os.Remove(to.path(markerName)), os.Remove(to.path(smallfile.SecondCopy(markerName)))); err != nil {
			t.Fatal(err)
		}
		to, m = reopen(dir, m)
		check(t, to, m, 3)
	})
	t.Run("before the restore", func(t *testing.T) {
		dir := t.TempDir()
		to, m := storeWith(t, dir, 3)
		receive(t, from, to, true)
		to, m = reopen(dir, m)
		check(t, to, m, 20) // what the sender's state comprised, which is more than the marker says
		if p := to.position(); p.Index != 15 {
			t.Fatalf("the snapshot is at %d", p.Index)
		}
	})
	t.Run("after the restore", func(t *testing.T) {
		dir := t.TempDir()
		to, m := storeWith(t, dir, 3)
		receive(t, from, to, true)
		if err := to.restore(*to.newest); err != nil {
			t.Fatal(err)
		}
		to, m = reopen(dir, m)
		check(t, to, m, 20)
	})
	t.Run("with a damaged file", func(t *testing.T) {
		dir := t.TempDir()
		to, m := storeWith(t, dir, 3)
		receive(t, from, to, true)
		b, err := os.ReadFile(to.path(dumpName))
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)/2] ^= 1
		if err := os.WriteFile(to.path(dumpName), b, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := to.adopt(); err == nil {
			t.Fatal("a damaged snapshot is taken over")
		}
		if have, _ := m.Durable(); have != 3 {
			t.Fatalf("the state is at %d", have)
		}
	})
}

func TestSnapshotsDoNotGoBack(t *testing.T) {
	s, _ := storeWith(t, t.TempDir(), 10)
	if err := takeLocal(t, s, 9); err != nil {
		t.Fatal(err)
	}
	if err := takeLocal(t, s, 8); err == nil {
		t.Fatal("an older snapshot takes the place of a newer one")
	}
	if p := s.position(); p.Index != 9 {
		t.Fatalf("the snapshot is at %d", p.Index)
	}
}

// A state file that does not go as far as the snapshot says was lost or replaced.
func TestLostStateIsNoticed(t *testing.T) {
	dir := t.TempDir()
	s, m := storeWith(t, dir, 10)
	if err := takeLocal(t, s, 9); err != nil {
		t.Fatal(err)
	}
	_ = m.Close()
	if err := os.Remove(filepath.Join(dir, "state.db")); err != nil {
		t.Fatal(err)
	}
	s, _ = storeWith(t, dir, 0)
	if err := s.adopt(); turn.KindOf(err) != turn.Corrupt || !strings.Contains(beyondRepair(err).Error(), "remove the node") {
		t.Fatalf("got %v", err)
	}
}

func TestDamagedMarkerIsRefused(t *testing.T) {
	dir := t.TempDir()
	s, m := storeWith(t, dir, 10)
	if err := takeLocal(t, s, 9); err != nil {
		t.Fatal(err)
	}
	edit := func(old, new string) func(string) string {
		return func(m string) string { return strings.Replace(m, old, new, 1) }
	}
	newer := func(m string) string {
		m = edit(`"version":1`, `"version":2,"more":"than we know"`)(m)
		sum, ok := smallfile.JSONSum([]byte(m), markerUnchecked)
		if !ok {
			t.Fatalf("no checksum in %s", m)
		}
		return regexp.MustCompile(`"crc32c":\d+`).ReplaceAllString(m, fmt.Sprintf(`"crc32c":%d`, sum))
	}
	for name, c := range map[string]struct {
		spoil func(string) string
		says  string
	}{
		"flipped":         {edit(`"index":9`, `"index":8`), reseed},
		"truncated":       {func(m string) string { return m[:len(m)/2] }, reseed},
		"version flipped": {edit(`"version":1`, `"version":9`), reseed},
		"checksum lost":   {edit(`"crc32c"`, `"crc32d"`), reseed},
		"newer":           {newer, "run the newer turnlog"},
	} {
		spoil := c.spoil
		t.Run(name, func(t *testing.T) {
			b, err := os.ReadFile(s.path(markerName))
			if err != nil {
				t.Fatal(err)
			}
			defer smallfile.WriteCopies(s.path(markerName), b)
			if err := smallfile.WriteCopies(s.path(markerName), []byte(spoil(string(b)))); err != nil {
				t.Fatal(err)
			}
			if _, err := openSnapshots(s.dir, m, 0, systemClock{}, testLogger()); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("it is taken as %v", err)
			}
		})
	}
}

// A replicator that outlived its member's removal sends the member that was added
// anew what that has passed.
func TestPassedSnapshotIsRefused(t *testing.T) {
	from, _ := storeWith(t, t.TempDir(), 10)
	if err := takeLocal(t, from, 9); err != nil {
		t.Fatal(err)
	}
	to, _ := storeWith(t, t.TempDir(), 12)
	if err := takeLocal(t, to, 4); err != nil {
		t.Fatal(err)
	}
	for applied, refused := range map[uint64]bool{8: false, 9: false, 10: true} {
		to.follow(func() uint64 { return applied })
		sink, err := to.Create(1, 9, 1, servers(3), 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = sink.Write([]byte("state"))
		if err := sink.Cancel(); err != nil {
			t.Fatal(err)
		}
		if (err != nil) != refused {
			t.Errorf("a snapshot at entry 9, for a node that has applied entry %d: %v", applied, err)
		}
	}
	if err := takeLocal(t, to, 5); err != nil {
		t.Errorf("an own snapshot is behind what was applied, always: %v", err)
	}
}

// Two snapshots that finish at the same time leave the newer one, in memory and on
// the disk.
func TestOverlappingSnapshotsLeaveTheNewer(t *testing.T) {
	dir := t.TempDir()
	s, err := openSnapshots(dir, nil, 0, systemClock{}, testLogger())
	if err != nil {
		t.Fatal(err)
	}
	for i := uint64(1); i <= 300; i++ {
		var both sync.WaitGroup
		for _, index := range []uint64{2*i + 1, 2 * i} {
			both.Go(func() { _ = s.keep(marker{Index: index, Term: 1}) })
		}
		both.Wait()
		m, err := readMarker(s.path(markerName))
		if err != nil {
			t.Fatal(err)
		}
		if want := 2*i + 1; s.position().Index != want || m.Best.Index != want || m.Differ {
			t.Fatalf("of the snapshots at %d and %d, %d is the newest, and %d on the disk", want-1, want, s.position().Index, m.Best.Index)
		}
	}
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
	list, err := n.snaps.List()
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	put(t, n, "s", "y")
	if err := n.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	if meta, r, err := n.snaps.Open(list[0].ID); err == nil {
		_ = r.Close()
		t.Fatalf("asked for snapshot %s, the store opened %s", list[0].ID, meta.ID)
	}
}

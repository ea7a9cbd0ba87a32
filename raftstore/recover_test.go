package raftstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/internal/datadir"
	"github.com/turnlog/turnlog/internal/newcluster"
	"github.com/turnlog/turnlog/turn"
)

func survey(t testing.TB, dir string) *newcluster.Survivor {
	t.Helper()
	s, err := newcluster.Survey(dir, testLogger())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Of a cluster that lost two of three nodes, a recovery keeps all that the third had: what its log has
// behind its state file, too. The old directory starts no more, and lost nodes that come back have nothing
// to do with the new cluster.
func TestRecoveryKeepsWhatThereIs(t *testing.T) {
	for _, engine := range []string{"wal", "boltdb"} {
		t.Run(engine, func(t *testing.T) {
			c := newCluster(t, 3, func(cfg *Config) { cfg.Log.Engine = engine })
			c.recordedAll()
			put(t, c.leader(), "s", "flushed")
			if err := c.nodes["n1"].Snapshot(t.Context()); err != nil {
				t.Fatal(err)
			}
			appended, durable := c.unflushed("n1", 40)
			old, last := c.leader().data.State.ClusterID(), c.nodes["n1"]
			c.killAll()
			end := last.data.Log.LastDurable() // on a busy machine further leaders have begun

			s := survey(t, filepath.Join(c.dir, "n1"))
			if s.NodeID != "n1" || s.ClusterID != old || s.End.Index != end || s.Durable < durable || s.Lost != "" ||
				s.LeftFor != "" || !slices.Equal(s.Servers, ids(3)) {
				t.Errorf("the survivor is %+v; its log ends at %d, its state file at %d", s, end, durable)
			}
			if s.Durable >= end {
				t.Fatalf("the state file has entry %d, the log %d: nothing is left to be replayed", s.Durable, end)
			}
			origin, err := s.Recover(t.Context(), newcluster.Config{DataDir: filepath.Join(c.dir, "new-n1"),
				NodeID: "n1", Addr: c.addrs["n1"], Logger: testLogger()})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			n1 := c.startNew("n1")
			c.leader()
			hasAll(t, n1, []int64{appended})
			if got := texts(t, n1, "s", turn.Linearizable); len(got) != 1 {
				t.Errorf("a session has %q", got)
			}
			c.tellsOrigin(origin, old)
			c.leftBehind()
			c.oldNodesStayOut()
			c.othersJoin()
		})
	}
}

// unflushed appends until the node's log has more than so many entries behind its state file, and returns
// how many were appended and where the state file ends. A node flushes once more when it has
// learned of members or of a level, which may be in the midst of this; then there is nothing more to learn.
func (c *cluster) unflushed(id string, entries uint64) (appended int64, durable uint64) {
	c.t.Helper()
	for range 10 {
		for range entries + 10 {
			if _, err := c.leader().Apply(c.t.Context(), writersOp(0, int(appended))); err != nil {
				c.t.Fatal(err)
			}
			appended++
		}
		c.level()
		durable, _ = c.nodes[id].data.State.Durable()
		if c.nodes[id].data.Log.LastDurable() > durable+entries {
			return appended, durable
		}
	}
	c.t.Fatalf("the state file has entry %d, the log %d: nothing is left to be replayed", durable,
		c.nodes[id].data.Log.LastDurable())
	return
}

// tellsOrigin holds the record in the new directory to what the recovery returned.
func (c *cluster) tellsOrigin(origin newcluster.Origin, old string) {
	c.t.Helper()
	var kept newcluster.Origin
	b, err := os.ReadFile(filepath.Join(c.dir, "new-n1", newcluster.OriginName))
	if err == nil {
		err = json.Unmarshal(b, &kept)
	}
	if err != nil || fmt.Sprint(kept) != fmt.Sprint(origin) || kept.By != "recover" || kept.ClusterID != old ||
		kept.NewClusterID != c.nodes["n1"].data.State.ClusterID() {
		c.t.Errorf("the origin is %+v, %v; the recovery says %+v", kept, err, origin)
	}
}

// leftBehind tries to use the directory that was recovered.
func (c *cluster) leftBehind() {
	c.t.Helper()
	if n, err := Open(c.config("n1")); err == nil || !strings.Contains(err.Error(), datadir.LeftName) {
		_ = n.Close()
		c.t.Errorf("the node that was left opens: %v", err)
	}
	s := survey(c.t, filepath.Join(c.dir, "n1"))
	if !strings.Contains(s.LeftFor, "new-n1") {
		c.t.Errorf("the directory that was left says %q", s.LeftFor)
	}
	if err := s.Close(); err != nil {
		c.t.Error(err)
	}
}

// A directory that is in use, that is none of a node, or whose state is damaged is not recovered.
func TestNoRecoveryOf(t *testing.T) {
	c := newCluster(t, 3)
	put(t, c.leader(), "s", strings.Repeat("find me", 1000))
	c.level()
	dir := filepath.Join(c.dir, "n1")
	if s, err := newcluster.Survey(dir, testLogger()); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a directory in use is surveyed: %+v, %v", s, err)
	}
	s, err := newcluster.Survey(t.TempDir(), testLogger())
	if err == nil || !strings.Contains(err.Error(), "not the data directory") {
		t.Errorf("an empty directory is surveyed: %+v, %v", s, err)
	}
	c.stop("n1")
	if err := os.WriteFile(filepath.Join(dir, "damaged"), []byte("a flipped bit"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := newcluster.Survey(dir, testLogger()); err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("a damaged directory is surveyed: %+v, %v", s, err)
	}
	if _, err := os.Stat(filepath.Join(dir, datadir.LeftName)); err == nil {
		t.Error("a directory that was not recovered counts as left")
	}
}

// A recovery that fails can be repeated wherever it failed: before the old directory is marked as if nothing
// had been, after that with what the mark asks for. What it wrote so far starts at no time.
func TestFailedRecoveryIsRepeated(t *testing.T) {
	c := newCluster(t, 1)
	put(t, c.leader(), "s", "x")
	c.level()
	c.stop("n1")
	dir := filepath.Join(c.dir, "n1")
	into := func(name string) newcluster.Config {
		return newcluster.Config{DataDir: filepath.Join(c.dir, name), NodeID: "n1", Addr: c.addrs["n1"],
			Logger: testLogger()}
	}
	recovers := func(n newcluster.Config) (err error) {
		s := survey(t, dir)
		defer s.Close()
		_, err = s.Recover(t.Context(), n)
		return err
	}
	marked := func() bool {
		_, err := os.Stat(filepath.Join(dir, datadir.LeftName))
		return err == nil
	}
	early := into("early")
	if err := os.MkdirAll(filepath.Join(early.DataDir, newcluster.OriginName), 0o700); err != nil { // in the way
		t.Fatal(err)
	}
	if err := recovers(early); err == nil || marked() {
		t.Errorf("into a directory that is not empty: %v; marked: %v", err, marked())
	}
	late := into("late")
	late.Sealed = func() error { return errors.New("the disk is gone") }
	err := recovers(late)
	if err == nil || !marked() || !strings.Contains(err.Error(), "--again") {
		t.Errorf("at its end: %v; marked: %v", err, marked())
	}
	for _, unfinished := range []string{"late", "n1"} {
		cfg := c.config("n1", func(cfg *Config) {
			cfg.DataDir, cfg.InitialCluster = filepath.Join(c.dir, unfinished), nil
		})
		if n, err := Open(cfg); err == nil {
			_ = n.Close()
			t.Errorf("a node starts with %s", unfinished)
		}
	}
	if err := recovers(into("new-n1")); err != nil {
		t.Fatal(err)
	}
	if got := texts(t, c.startNew("n1"), "s", turn.Linearizable); len(got) != 1 {
		t.Errorf("the session has %q", got)
	}
}

// Whatever fails while the new directory is written, the old one is not marked before.
func TestOldDirectoryIsMarkedLast(t *testing.T) {
	c := newCluster(t, 1)
	put(t, c.leader(), "s", "x")
	c.level()
	c.stop("n1")
	s := survey(t, filepath.Join(c.dir, "n1"))
	defer s.Close()
	n := newcluster.Config{DataDir: filepath.Join(c.dir, "new"), NodeID: "n1", Addr: c.addrs["n1"],
		Logger: testLogger()}
	n.Seeded = func() error {
		if _, err := os.Stat(filepath.Join(c.dir, "n1", datadir.LeftName)); err == nil {
			t.Error("the old directory is marked before the new one is written")
		}
		if _, err := os.Stat(filepath.Join(n.DataDir, newcluster.OriginName)); err != nil {
			t.Errorf("the new one is not written: %v", err)
		}
		return errors.New("the disk is gone")
	}
	if _, err := s.Recover(t.Context(), n); err == nil || strings.Contains(err.Error(), "--again") {
		t.Errorf("a recovery that failed says %v", err)
	}
}

package raftstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/fsm/statedump"
	"github.com/turnlog/turnlog/internal/datadir"
	"github.com/turnlog/turnlog/internal/newcluster"
	"github.com/turnlog/turnlog/turn"
)

// backup reads a whole backup of a node.
func backup(t testing.TB, r *running) []byte {
	t.Helper()
	_, size, stream, err := r.Backup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	dump, err := io.ReadAll(stream)
	if err != nil || int64(len(dump)) != size {
		t.Fatalf("a backup of %d bytes, %d were announced: %v", len(dump), size, err)
	}
	return dump
}

// whole is the check of a dump that is known to be whole.
func whole(statedump.Content) error { return nil }

// restored makes a directory of a dump, and runs its node, the first of a new cluster.
func restored(t testing.TB, c *cluster, id string, dump io.Reader) (*running, newcluster.Origin) {
	t.Helper()
	into := newcluster.Config{DataDir: filepath.Join(c.dir, "new-"+id), NodeID: id, Addr: c.addrs[id]}
	origin, err := newcluster.Restore(into, dump, whole)
	if err != nil {
		t.Fatal(err)
	}
	return c.startNew(id), origin
}

// startNew runs a node of a new cluster on its new directory.
func (c *cluster) startNew(id string, options ...func(*Config)) *running {
	c.t.Helper()
	return c.start(id, append(options, func(cfg *Config) {
		cfg.DataDir, cfg.InitialCluster = filepath.Join(c.dir, "new-"+id), nil
	})...)
}

// loaded has writers append under ids, one session each, until stop. acked returns how many messages of each were
// acknowledged by now.
func loaded(t *testing.T, r *running, n int) (acked func() []int64, stop func()) {
	counts := make([]atomic.Int64, n)
	var over atomic.Bool
	var wg sync.WaitGroup
	for w := range counts {
		wg.Go(func() {
			for i := 0; !over.Load(); i++ {
				if _, err := r.Apply(t.Context(), writersOp(w, i)); err != nil {
					t.Errorf("append %d of writer %d: %v", i, w, err)
					return
				}
				counts[w].Add(1)
			}
		})
	}
	return func() (out []int64) {
			for w := range counts {
				out = append(out, counts[w].Load())
			}
			return out
		}, func() {
			over.Store(true)
			wg.Wait()
		}
}

func writersOp(w, i int) *turn.Append {
	return &turn.Append{Key: key(fmt.Sprint("writer", w)),
		Messages: []turn.NewMessage{message(fmt.Sprintf("%d-%d", w, i), fmt.Sprintf("message %d of %d", i, w))}}
}

// A backup of any node, taken while others write, includes what was acknowledged before it began; a
// cluster that begins with it has all of that once, and knows retries of it; the old cluster and the new one
// have nothing to do with each other.
func TestBackupIsRestored(t *testing.T) {
	c := newCluster(t, 3)
	c.recordedAll()
	acked, stop := loaded(t, c.follower(), 4)
	eventuallyTrue(t, "something is acknowledged", func() bool { return slices.Min(acked()) > 20 })
	for _, id := range ids(3) {
		before := acked()
		dump := backup(t, c.nodes[id])
		if id != "n3" {
			continue
		}
		stop()
		old := c.leader().data.State.ClusterID()
		c.killAll()
		n1, origin := restored(t, c, "n1", bytes.NewReader(dump))
		c.leader()
		if got := n1.data.State.ClusterID(); got == old || got != origin.NewClusterID ||
			got != n1.data.Identity.Get().ClusterID {
			t.Errorf("the new cluster has id %s, the old one %s, the origin says %s", got, old, origin.NewClusterID)
		}
		hasAll(t, n1, before)
	}
	c.oldNodesStayOut()
	c.othersJoin()
}

// hasAll holds a restored node to what was acknowledged, and to one of each.
func hasAll(t *testing.T, n1 *running, acked []int64) {
	t.Helper()
	for w, count := range acked {
		name := fmt.Sprint("writer", w)
		got := texts(t, n1, name, turn.Linearizable)
		if int64(len(got)) < count {
			t.Errorf("%s has %d messages, %d were acknowledged before the backup began", name, len(got), count)
		}
		for i := range got {
			if want := fmt.Sprintf("message %d of %d", i, w); got[i] != want {
				t.Fatalf("message %d of %s is %q", i, name, got[i])
			}
			res, err := n1.Apply(t.Context(), writersOp(w, i))
			if i >= len(got)-turn.IDWindow && (err != nil || !res.Duplicate || res.First != uint64(i+1)) {
				t.Fatalf("message %d of %s is sent again: %+v, %v", i, name, res, err)
			}
		}
		if again := texts(t, n1, name, turn.Linearizable); len(again) != len(got) {
			t.Errorf("%s has %d messages after retries, had %d", name, len(again), len(got))
		}
	}
}

// oldNodesStayOut starts a node of the old cluster beside the new one's first node.
func (c *cluster) oldNodesStayOut() {
	c.t.Helper()
	c.start("n2") // with its old directory
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Second)
	defer cancel()
	err := c.nodes["n1"].members.AddNode(ctx, "n2", c.addrs["n2"])
	if err == nil || !strings.Contains(err.Error(), "belongs to cluster") {
		c.t.Errorf("a node of the old cluster is added: %v", err)
	}
	if len(c.nodes["n1"].raft.Configuration()) != 1 {
		c.t.Errorf("the new cluster has the members %v", c.nodes["n1"].raft.Configuration())
	}
	c.kill("n2")
}

// othersJoin adds two nodes with empty directories.
func (c *cluster) othersJoin() {
	c.t.Helper()
	for _, id := range []string{"n2", "n3"} {
		c.startNew(id, func(cfg *Config) { cfg.Join = true })
		c.change(func(leader *running) error { return leader.members.AddNode(c.t.Context(), id, c.addrs[id]) })
	}
	put(c.t, c.nodes["n3"], "after", "a write of the new cluster")
	c.ready()
	c.sameState()
}

// A backup needs a leader that says what was acknowledged: a node that is cut off has none.
func TestNoBackupWithoutALeader(t *testing.T) {
	c := newCluster(t, 3, func(cfg *Config) { cfg.Calls.LeaderWait = 200 * time.Millisecond })
	put(t, c.leader(), "s", "x")
	c.kill("n1")
	c.kill("n2")
	eventuallyTrue(t, "n3 gives no backup", func() bool {
		_, _, stream, err := c.nodes["n3"].Backup(t.Context())
		if err == nil {
			stream.Close()
		}
		return turn.Is(err, turn.Unavailable)
	})
	c.kill("n3")
}

// One backup of a node is taken at a time, also if the reader of one goes away in its middle.
func TestOneBackupAtATime(t *testing.T) {
	c := newCluster(t, 1)
	put(t, c.leader(), "s", strings.Repeat("x", 1<<20))
	_, _, stream, err := c.nodes["n1"].Backup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := c.nodes["n1"].Backup(t.Context()); !turn.Is(err, turn.Overloaded) {
		t.Errorf("a second backup at the same time: %v", err)
	}
	if _, err := io.ReadFull(stream, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	if err := stream.Close(); err != nil {
		t.Fatal(err)
	}
	backup(t, c.nodes["n1"])
}

// A restore that does not come to its end leaves a directory that no node starts with: not as a
// new, empty cluster, above all.
func TestUnfinishedRestoreDoesNotStart(t *testing.T) {
	c := newCluster(t, 1)
	put(t, c.leader(), "s", "x")
	dump := backup(t, c.nodes["n1"])
	id := c.nodes["n1"].data.State.ClusterID()
	c.kill("n1")
	refused := errors.New("the end of the backup is not what it should be")
	for what, restore := range map[string]func(newcluster.Config) (newcluster.Origin, error){
		"cut": func(n newcluster.Config) (newcluster.Origin, error) {
			return newcluster.Restore(n, bytes.NewReader(dump[:len(dump)-1]), whole)
		},
		"refused": func(n newcluster.Config) (newcluster.Origin, error) {
			return newcluster.Restore(n, bytes.NewReader(dump), func(held statedump.Content) error {
				if held.Sessions != 1 || held.Messages != 1 || held.Index == 0 || held.ClusterID != id {
					t.Errorf("the dump held %+v", held)
				}
				return refused
			})
		},
		"crash": func(n newcluster.Config) (newcluster.Origin, error) {
			defer func() { _ = recover() }()
			n.Sealed = func() error { panic("crash") }
			return newcluster.Restore(n, bytes.NewReader(dump), whole)
		},
	} {
		into := newcluster.Config{DataDir: filepath.Join(c.dir, what), NodeID: "n1", Addr: c.addrs["n1"]}
		if _, err := restore(into); err == nil && what != "crash" {
			t.Errorf("%s: a restore succeeds", what)
		}
		cfg := c.config("n1", func(cfg *Config) { cfg.DataDir, cfg.InitialCluster = into.DataDir, nil })
		if n, err := Open(cfg); err == nil || !strings.Contains(err.Error(), datadir.UnfinishedName) {
			_ = n.Close()
			t.Errorf("%s: the node opens: %v", what, err)
		}
		if _, err := newcluster.Restore(into, bytes.NewReader(dump), whole); err == nil {
			t.Errorf("%s: a restore into a directory with something in it succeeds", what)
		}
		if err := os.RemoveAll(into.DataDir); err != nil {
			t.Fatal(err)
		}
		if _, err := newcluster.Restore(into, bytes.NewReader(dump), whole); err != nil {
			t.Errorf("%s: a restore into the emptied directory: %v", what, err)
		}
	}
}

// A backup ends before the state file has grown to where writes would wait for it.
func TestBackupEndsBeforeWritesWaitForIt(t *testing.T) {
	left := int64(backupGrowth)
	s := newBackupStream(io.NopCloser(strings.NewReader("the state")), func() int64 { return left }, nil, func() {})
	defer s.Close()
	if n, err := s.Read(make([]byte, 3)); n != 3 || err != nil {
		t.Errorf("with room: %d, %v", n, err)
	}
	left--
	if n, err := s.Read(make([]byte, 3)); n != 0 || !turn.Is(err, turn.Unavailable) {
		t.Errorf("without room: %d, %v", n, err)
	}
	c := newCluster(t, 1)
	before := c.leader().data.State.MapLeft()
	if before < 60<<30 || before > 64<<30 {
		t.Errorf("a new state file can grow by %d bytes", before)
	}
}

// A node that is sent a newer state does not wait for the client of a backup, which may take nothing for long: the
// backup fails.
func TestReplacedStateEndsBackup(t *testing.T) {
	c := newCluster(t, 1)
	r := c.leader()
	for i := range 40 {
		long := message(fmt.Sprint(i), strings.Repeat("text ", 20_000))
		op := &turn.Append{Key: key("s"), Messages: []turn.NewMessage{long}}
		if _, err := r.Apply(t.Context(), op); err != nil {
			t.Fatal(err)
		}
	}
	newer := backup(t, r)
	m, err := fsm.Open(fsm.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := m.Restore(bytes.NewReader(newer)); err != nil {
		t.Fatal(err)
	}
	d, err := m.Dump()
	if err != nil {
		t.Fatal(err)
	}
	dump, w := io.Pipe()
	written := make(chan struct{})
	go func() {
		defer close(written)
		defer d.Close()
		_, err := d.WriteTo(w)
		w.CloseWithError(err)
	}()
	s := newBackupStream(dump, m.MapLeft, m.Replaced(), func() {})
	defer s.Close()
	if _, err := io.ReadFull(s, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	restored := make(chan error, 1)
	go func() { restored <- m.Restore(bytes.NewReader(newer)) }()
	select {
	case err = <-restored:
	case <-time.After(10 * time.Second):
		s.Close()
		<-restored
		err = errors.New("the restore waited for a backup that is not read")
	}
	if err != nil {
		t.Error(err)
	}
	if n, err := s.Read(make([]byte, 1000)); n > 0 || !turn.Is(err, turn.Unavailable) {
		t.Errorf("the backup goes on: %d bytes, %v", n, err)
	}
	<-written
}

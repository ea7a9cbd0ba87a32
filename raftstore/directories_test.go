package raftstore

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/turnlog/turnlog/internal/vfs/simdisk"
)

// A directory that another program made, and may not have synced, is durable before a node writes to it.
func TestEntryOfTheDirectoryIsDurable(t *testing.T) {
	for name, test := range map[string]struct{ fault, want error }{
		"synced":                             {nil, nil},
		"the disk fails":                     {syscall.EIO, syscall.EIO},
		"the parent may not be read by this": {syscall.EACCES, nil},
	} {
		t.Run(name, func(t *testing.T) {
			disk, dir := simdisk.New(), filepath.Join(t.TempDir(), "copied")
			synced := 0
			disk.Fail(func(op simdisk.Op) error {
				switch {
				case op.Kind == simdisk.SyncDir && op.Name == filepath.Dir(dir):
					synced++
					return test.fault
				case op.Changes() && synced == 0:
					t.Errorf("before the entry is synced: %v", op)
				}
				return nil
			})
			for start := range 2 {
				n, err := Open(Config{NodeID: "n1", DataDir: dir, Peers: Peers{Addr: "127.0.0.1:0"},
					Log: Log{Disk: disk}, Logger: testLogger()})
				if !errors.Is(err, test.want) {
					t.Fatalf("start %d: %v, want %v", start, err, test.want)
				}
				if synced != start+1 {
					t.Errorf("start %d: the parent was synced %d times", start, synced)
				}
				if err == nil {
					err = n.Close()
				}
				if err != nil && test.want == nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// A leader that never got a question of a node knows from the handshake which directory the node
// has, and remembers what that one acknowledged. Else an older copy of it would not be recognised.
func TestAcknowledgementsAreRememberedWithoutAQuestion(t *testing.T) {
	w := newWires()
	c := reserve(t, 2, w.option)
	w.dropRequests("n2", c.addrs["n1"], true)
	n1, n2 := c.start("n1"), c.start("n2")
	eventuallyTrue(t, "n1 leads", func() bool { term, _ := n1.lead.Serves(); return term != 0 })
	put(t, n1, "s", "a") // n2 acknowledges it
	self := n2.data.Identity.Get().Incarnation
	applied, _ := n1.data.State.Applied()
	if seen := n1.seen.Of("n2", self); seen.Index < applied || seen.Promised == 0 {
		t.Errorf("n2 has acknowledged entry %d, and n1 remembers %+v", applied, seen)
	}
	if seen := n1.seen.Start("n2"); seen.Number != 0 {
		t.Errorf("n2 has asked, in its start %d", seen.Number)
	}
}

// A node was removed and added again with another directory. A question of the directory before
// comes late, or that node still runs: what was seen of the new one is not forgotten over it.
func TestLateQuestionOfAReplacedDirectory(t *testing.T) {
	c := newCluster(t, 3)
	c.recordedAll()
	c.elect("n1")
	put(t, c.nodes["n1"], "s", "a")
	before := c.nodes["n3"].facts()
	c.change(func(leader *running) error { return leader.members.RemoveNode(t.Context(), "n3") })
	c.ended(c.nodes["n3"])
	c.wipe("n3")
	n3 := c.start("n3", func(cfg *Config) { cfg.Join = true })
	c.change(func(leader *running) error { return leader.members.AddNode(t.Context(), "n3", c.addrs["n3"]) })
	c.recordedAll()
	put(t, c.nodes["n1"], "s", "b")
	self := n3.data.Identity.Get().Incarnation
	for _, id := range []string{"n1", "n2"} {
		r := c.nodes[id]
		eventuallyTrue(t, id+" has seen something of n3", func() bool { return r.seen.Of("n3", self).Index > 0 })
		seen := r.seen.Of("n3", self)
		if _, err := r.detector.Answer(before, []byte(`{"index":1,"term":1,"boot":7,"doubt":true}`)); err != nil {
			t.Fatal(err)
		}
		if now := r.seen.Of("n3", self); now.Position().Before(seen.Position()) || now.Promised < seen.Promised {
			t.Errorf("%s had seen %+v of n3, and now %+v", id, seen, now)
		}
		if r.seen.InDoubt("n3") || r.seen.Start("n3").Number == 7 {
			t.Errorf("%s believes the directory before", id)
		}
	}
	c.sameState()
}

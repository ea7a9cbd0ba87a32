package raftstore

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/datadir"
	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/signal"
	"github.com/turnlog/turnlog/turn"
)

// stillRuns fails the test if a node is to stop.
func (c *cluster) stillRuns(id string) {
	c.t.Helper()
	if why := c.nodes[id].failure.Reason(); why != nil {
		c.t.Errorf("%s stops: %v", id, why)
		delete(c.nodes, id)
	}
}

// A node stops if another one refuses it as no member, and has applied more. One that has
// applied less may lack the entries that made it a member.
func TestRefusalByANodeThatLags(t *testing.T) {
	c := newCluster(t, 3)
	c.recordedAll()
	f := c.follower()
	refusedBy := func(applied uint64) {
		f.policy.Rejected(peer.Meeting{Remote: peer.Facts{ClusterID: f.data.Identity.Get().ClusterID, NodeID: "n9",
			Progress: applied}},
			&peer.Refusal{Code: peer.RefusedMember})
	}
	refusedBy(0)
	refusedBy(f.data.Applied())
	if err := f.failure.Reason(); err != nil {
		t.Fatalf("it stops: %v", err)
	}
	refusedBy(f.data.Applied() + 1000)
	if err := c.ended(f); !errors.Is(err, ErrRemoved) {
		t.Errorf("the node ends with: %v", err)
	}
}

// A member that was away while another was added, and that can ask no node, refuses it for
// now. Neither stops for that.
func TestMemberThatLagsStopsNoNode(t *testing.T) {
	c := newCluster(t, 3, certified(t, "n4"))
	c.recordedAll()
	away := c.follower()
	c.kill(away.id)
	before := c.addrs
	c.addrs = map[string]string{"n4": freeAddr(t)}
	for id, addr := range before {
		c.addrs[id] = addr
	}
	n4 := c.start("n4", func(cfg *Config) { cfg.Join = true })
	c.change(func(leader *running) error { return leader.members.AddNode(t.Context(), "n4", c.addrs["n4"]) })
	put(t, c.leader(), "s", "x")
	eventuallyTrue(t, "n4 knows itself", func() bool {
		return n4.data.Recorded("n4") == n4.data.Identity.Get().Incarnation
	})
	for id := range before { // they would tell it
		if id != away.id {
			c.kill(id)
		}
	}
	c.start(away.id, func(cfg *Config) {
		cfg.InitialCluster = before
		cfg.Peers.Dial = func(context.Context, string) (net.Conn, error) { return nil, errors.New("cut") }
	})
	eventuallyTrue(t, "n4 is refused", func() bool {
		_, err := n4.statusOf(t.Context(), away.id)
		var r *peer.Refusal
		return n4.failure.Reason() != nil || errors.As(err, &r) &&
			(r.Code == peer.RefusedMember || r.Code == peer.RefusedOther)
	})
	c.stillRuns("n4")
	c.kill(away.id)
	for id := range before {
		c.start(id)
	}
	put(t, c.leader(), "s", "y")
	c.sameState()
}

// A node that began alone is put back from a copy of that time. The members that it does not
// know go on; it stops.
func TestOldCopyOfALoneNode(t *testing.T) {
	c, copied := oldCopyOfALoneNode(t)
	c.stopsAsOlderCopy(c.run(copied))
}

// The same if the members connect before the copy's Raft has read who is a member, and tell how far they have seen the
// node: they do not connect again, and would not be ahead of what the node then knows that it had.
func TestOldCopyOfALoneNodeThatIsHeardBeforeItsRaftRuns(t *testing.T) {
	var starts atomic.Pointer[Node]
	var end atomic.Uint64
	c, copied := oldCopyOfALoneNode(t, func(cfg *Config) {
		cfg.Log.wrap = func(e raftlog.Engine) raftlog.Engine { return holdsStart{e, &starts, &end} }
	})
	end.Store(c.leader().data.Log.LastDurable())
	starts.Store(copied)
	c.stopsAsOlderCopy(c.run(copied))
}

// holdsStart keeps a node's Raft from reading the log until another node has told that it has seen the node with as
// much as the others have.
type holdsStart struct {
	raftlog.Engine
	node *atomic.Pointer[Node]
	end  *atomic.Uint64 // of their logs
}

func (h holdsStart) Get(index uint64, l *raft.Log) error {
	if n := h.node.Load(); n != nil && signal.Closed(n.checked) {
		for end := time.Now().Add(hang); n.data.Mark.Position().Index < h.end.Load() && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
	}
	return h.Engine.Get(index, l)
}

// oldCopyOfALoneNode returns a cluster of n2 and n3, and n1, which runs not yet, with a directory from when it was
// alone.
func oldCopyOfALoneNode(t *testing.T, options ...func(*Config)) (*cluster, *Node) {
	t.Helper()
	c := newCluster(t, 1)
	c.recordedAll()
	put(t, c.leader(), "s", "x")
	alone, aside, dir := map[string]string{"n1": c.addrs["n1"]}, t.TempDir(), filepath.Join(c.dir, "n1")
	c.copied("n1", "", aside)
	for _, id := range []string{"n2", "n3"} {
		c.addrs[id] = freeAddr(t)
		c.start(id, func(cfg *Config) { cfg.Join = true })
		c.change(func(leader *running) error { return leader.members.AddNode(t.Context(), id, c.addrs[id]) })
	}
	c.recordedAll()
	for _, id := range []string{"n2", "n3", "n2", "n3"} { // later terms than that in which the copy leads
		c.leadBy(id)
		put(t, c.leader(), "s", "y")
	}
	eventuallyTrue(t, "the leader has seen all of n1", func() bool {
		l := c.leader()
		return l.id != "n1" && l.seen.Last("n1").Index == l.data.Log.LastDurable()
	})
	c.stop("n1")
	restore(t, aside, dir)
	return c, c.open("n1", append(options, func(cfg *Config) { cfg.InitialCluster = alone })...)
}

// stopsAsOlderCopy checks that n1 ends, and n2 and n3 go on.
func (c *cluster) stopsAsOlderCopy(n1 *running) {
	c.t.Helper()
	if err := c.ended(n1); err == nil || errors.Is(err, ErrRemoved) || !strings.Contains(err.Error(), "older copy") ||
		!strings.Contains(err.Error(), datadir.Reseed) {
		c.t.Errorf("the copy ends with: %v", err)
	}
	c.stillRuns("n2")
	c.stillRuns("n3")
	put(c.t, c.leader(), "s", "z")
	if got := texts(c.t, c.leader(), "s", turn.Linearizable); len(got) != 6 {
		c.t.Errorf("the others have %d messages", len(got))
	}
}

// A node whose state was put aside does not know that it is a member again, with the
// directory that it has: what a node says that lags does not stop it.
func TestRefusalWhileTheStateIsAside(t *testing.T) {
	c := newCluster(t, 3)
	c.recordedAll()
	f := c.follower()
	cluster, dir := f.data.Identity.Get().ClusterID, filepath.Join(c.dir, f.id)
	c.killAll()
	if err := os.Truncate(filepath.Join(dir, "state.db"), 0); err != nil {
		t.Fatal(err)
	}
	f = c.start(f.id) // no other node is there to repair it
	eventuallyTrue(t, "it runs", func() bool { return f.raft.Load() != nil })
	if f.data.Recorded(f.id) != "" {
		t.Fatal("the state was not put aside")
	}
	f.policy.Rejected(peer.Meeting{Remote: peer.Facts{ClusterID: cluster, NodeID: "n9"}},
		&peer.Refusal{Code: peer.RefusedIncarnation})
	c.stillRuns(f.id)
	for _, id := range ids(3) {
		if id != f.id {
			c.start(id)
		}
	}
	c.ready()
	c.sameState()
}

// Where nodes have no credential, a probe does not stop the only voter: anyone may say that
// they are ahead. A node that connects as a member does, does.
func TestProbeStopsNoNode(t *testing.T) {
	c := newCluster(t, 1)
	n := c.leader()
	c.recordedAll()
	put(t, n, "s", "x")
	ahead := stranger(t, func() peer.Facts {
		return peer.Facts{ClusterID: n.data.Identity.Get().ClusterID, NodeID: "n9", Incarnation: "i", Wall: time.Now(),
			Level: n.facts().Level, LogIndex: 1 << 40, LogTerm: 1000}
	})
	var r *peer.Refusal
	if _, err := ahead.Probe(t.Context(), n.cfg.Peers.Advertise); !errors.As(err, &r) || r.Code != peer.RefusedOther {
		t.Errorf("the probe ended with: %v", err)
	}
	put(t, n, "s", "y")
	ahead.SetPeers(map[string]string{n.id: n.cfg.Peers.Advertise})
	if err := c.ended(n); err == nil ||
		!strings.Contains(err.Error(), "an older copy of this node's data was put back") {
		t.Errorf("the node ends with: %v", err)
	}
}

// What strangers show of their clocks is not kept, nor that of members that were removed.
func TestOffsetsOfMembersOnly(t *testing.T) {
	c := newCluster(t, 1)
	n := c.leader()
	for _, id := range []string{"n7", "n8", "n9"} {
		s := stranger(t, func() peer.Facts {
			return peer.Facts{ClusterID: n.data.Identity.Get().ClusterID, NodeID: id, Incarnation: "i",
				Wall: time.Now(), Level: n.facts().Level}
		})
		if _, err := s.Probe(t.Context(), n.cfg.Peers.Advertise); err != nil {
			t.Fatal(err)
		}
	}
	if got := n.offsets.Of([]string{"n7", "n8", "n9"}, time.Now()); len(got) > 0 {
		t.Errorf("offsets %v are kept", got)
	}
	n.offsets.Note("n9", time.Hour, time.Now())
	n.syncPeers()
	if got := n.offsets.Of([]string{"n9"}, time.Now()); len(got) > 0 {
		t.Errorf("offsets %v are kept", got)
	}
}

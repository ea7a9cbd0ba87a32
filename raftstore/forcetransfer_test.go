package raftstore

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/requests"
	"github.com/turnlog/turnlog/internal/vfs/simdisk"
	"github.com/turnlog/turnlog/turn"
)

// holding is a slog.Handler that waits, in the middle of what the state machine says of damage, as a
// disk that hangs has the state machine wait while it applies an entry: with its lock held.
type holding struct {
	slog.Handler
	held, release chan struct{}
}

func (holding) Enabled(context.Context, slog.Level) bool { return true }

func (h holding) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "stored data is damaged" {
		close(h.held)
		<-h.release
	}
	return h.Handler.Handle(ctx, r)
}

func (h holding) WithAttrs(as []slog.Attr) slog.Handler {
	h.Handler = h.Handler.WithAttrs(as)
	return h
}

// A leader whose disk hangs while its state machine applies an entry gives way to another node.
func TestForcedTransferWhileTheStateIsLocked(t *testing.T) {
	c := newCluster(t, 3)
	c.ready()
	id := c.leader().id
	c.kill(id)
	h := holding{testLogger().Handler(), make(chan struct{}), make(chan struct{})}
	leader := c.start(id, func(cfg *Config) { cfg.Logger = slog.New(h) })
	c.ready()
	c.leadBy(id)
	halted := make(chan struct{})
	go func() {
		defer close(halted)
		leader.data.State.Halt(errors.New("a disk that hangs")) // the state is fetched from another node later
	}()
	select {
	case <-h.held:
	case <-time.After(hang):
		t.Fatal("the state machine says nothing of the damage")
	}
	defer func() { <-halted }()
	defer close(h.release)
	given := make(chan error, 1)
	go func() { given <- transfer{leader.Node}.force(t.Context()) }()
	eventuallyTrue(t, "another node leads", func() bool {
		for _, n := range c.nodes {
			if n != leader && n.raft.Load().State() == raft.Leader {
				return true
			}
		}
		return false
	})
	eventuallyTrue(t, "the node knows the leader, for as long as the state is locked", func() bool {
		known, _ := leader.Leader()
		return known != "" && known != id
	})
	if err := <-given; err != nil {
		t.Error(err)
	}
}

// A leader whose disk hangs may believe that it leads for long after another one does. It has no node stand for
// election then, and a node that leads does not stand because one asks it to: each would end a term for nothing.
func TestForcedTransferToANodeThatLeads(t *testing.T) {
	disk := simdisk.New()
	c := newCluster(t, 3, func(cfg *Config) {
		if cfg.NodeID == "n3" {
			cfg.Log.Disk = disk
			cfg.Storage.SlowSync = time.Hour // only the test has others stand for election
		}
	})
	c.leadBy("n3")
	c.ready()
	n3, release := c.nodes["n3"], make(chan struct{})
	disk.Fail(func(op simdisk.Op) error {
		if op.Kind == simdisk.Sync {
			<-release
		}
		return nil
	})
	defer close(release)
	written := make(chan error, 2)
	for range cap(written) { // the second waits in Raft's main loop
		go func() {
			_, err := c.nodes["n1"].Apply(t.Context(), appendOp("s", "x"))
			written <- err
		}()
	}
	eventuallyTrue(t, "a sync hangs", func() bool { return n3.data.Log.Appending() > 0 })
	if err := (transfer{n3.Node}).force(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range cap(written) {
		if err := <-written; err != nil {
			t.Fatal(err)
		}
	}
	leader := c.otherLeader("n3")
	term, _ := leader.lead.Serves()
	if err := (transfer{n3.Node}).force(t.Context()); turn.KindOf(err) != turn.Unavailable {
		t.Errorf("a deposed leader whose disk hangs: %v", err)
	}
	if err := (transfer{n3.Node}).callElection(leader.id, c.addrs[leader.id]); err == nil {
		t.Error("a node that leads stands for election")
	}
	put(t, leader, "s", "y")
	if now, _ := leader.lead.Serves(); now != term {
		t.Errorf("%s led in term %d; now its term is %d", leader.id, term, now)
	}
}

// otherLeader waits until another node leads than this one, which may still believe that it does.
func (c *cluster) otherLeader(than string) (leader *running) {
	c.t.Helper()
	eventuallyTrue(c.t, "another node leads than "+than, func() bool {
		for _, n := range c.nodes {
			if term, _ := n.lead.Serves(); term != 0 && n.id != than {
				leader = n
			}
		}
		return leader != nil
	})
	return leader
}

// Voters that do not answer cost a transfer no more time than one of them does; and where its time is up before all
// have been heard, no node is to stand for election: one of those may lead by then.
func TestForcedTransferBesideSilentVoters(t *testing.T) {
	bubble(t, func(t *testing.T, dir string) {
		c := newSimCluster(t, 1, dir, 5)
		defer c.abandon()
		c.recover()
		leader := c.leader()
		term, _ := leader.lead.Serves()
		for _, silent := range c.others(leader.id)[2:] {
			c.net.set(silent, leader.id, func(l *line) { l.cut = true })
		}
		began := time.Now()
		if _, ok := (transfer{leader.Node}).target(t.Context()); !ok || time.Since(began) > requests.StatusTime {
			t.Errorf("a target was found: %v, after %v", ok, time.Since(began))
		}
		soon, cancel := context.WithTimeout(t.Context(), requests.StatusTime/2)
		defer cancel()
		if err := (transfer{leader.Node}).force(soon); turn.KindOf(err) != turn.Unavailable {
			t.Errorf("handed over before all were heard: %v", err)
		}
		if now, _ := leader.lead.Serves(); now != term {
			t.Errorf("%s led in term %d; now its term is %d", leader.id, term, now)
		}
		if err := (transfer{leader.Node}).force(t.Context()); err != nil {
			t.Error(err)
		}
		c.recover()
		c.sameState()
		c.close()
	})
}

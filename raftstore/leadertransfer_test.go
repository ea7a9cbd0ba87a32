package raftstore

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/membership"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/turn"
)

// Any node that is asked has the leader hand over.
func TestHandOverFromAnyNode(t *testing.T) {
	c := newCluster(t, 3)
	for range 3 {
		c.ready()
		before := c.leader().id
		if err := c.follower().members.HandOver(t.Context()); err != nil {
			t.Fatal(err)
		}
		eventuallyTrue(t, "another node leads", func() bool { return c.leader().id != before })
	}
	put(t, c.follower(), "s", "x")
}

// Transfers that fail, because nothing reaches the log of the one that is to lead,
// cost the leader nothing: it goes on taking writes.
func TestFailedTransfersDoNotStopTheLeader(t *testing.T) {
	bubble(t, func(t *testing.T, dir string) {
		c := newSimCluster(t, 1, dir, 3)
		defer c.abandon()
		c.recover()
		leader := c.leader()
		stuck := c.others(leader.id)[0]
		c.net.set(leader.id, stuck, func(l *line) {
			l.kinds = map[messageKind]time.Duration{{rpcEntries, false}: time.Hour}
		})
		write := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			_, err := leader.Apply(ctx,
				&turn.Append{Key: turn.Key{Namespace: "0", Name: "s"},
					Messages: []turn.NewMessage{{Data: []byte("1")}}})
			return err
		}
		if err := write(); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			err := transfer{leader.Node}.to(ctx, leader.raft.Load(),
				membership.Server{ID: stuck, Addr: stuck})
			cancel()
			if err == nil {
				t.Fatal("handed over to a node without the log's end")
			}
			if err := write(); err != nil {
				t.Fatalf("after a transfer that failed (%v): %v", err, write())
			}
		}
		c.net.promptly()
		c.recover()
		c.sameState()
		c.close()
	})
}

// Leadership is not handed to a voter that stands for no election, though its log is as long.
func TestTransferTargetIsNotRecovering(t *testing.T) {
	bubble(t, func(t *testing.T, dir string) {
		c := newSimCluster(t, 1, dir, 3)
		defer c.abandon()
		c.recover()
		leader := c.leader()
		n := c.node(c.others(leader.id)[0]) // of equal ones, the first is the choice
		c.within(5*time.Second, "all logs are equal", func() bool {
			return !slices.ContainsFunc(c.running(),
				func(o *simNode) bool { return o.raft.Load().LastIndex() != leader.raft.Load().LastIndex() })
		})
		end := n.data.Mark.Position()
		if err := n.data.Mark.NoteLoss(raftlog.Loss{Had: raftlog.Position{Index: end.Index + 1000,
			Term: end.Term}}); err != nil {
			t.Fatal(err)
		}
		if target, ok := (transfer{leader.Node}).target(t.Context()); !ok || string(target.ID) == n.id {
			t.Errorf("%v is to lead, while %s is recovering", target.ID, n.id)
		}
		if err := leader.TransferLeadership(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.within(5*time.Second, n.id+" has an entry of the next term",
			func() bool { _, missing := n.data.Mark.Lost(); return !missing })
		c.recover()
		c.sameState()
		c.close()
	})
}

// A node that leads no more, as after a wait for the target to catch up, has no node stand for election: that
// would depose the leader that has taken its place.
func TestNodeThatLeadsNoMoreCallsNoElection(t *testing.T) {
	c := newCluster(t, 3)
	c.ready()
	leader, follower := c.leader(), c.follower()
	i := slices.IndexFunc(ids(3), func(id string) bool { return id != leader.id && id != follower.id })
	other := ids(3)[i]
	err := transfer{follower.Node}.to(t.Context(), follower.raft.Load(),
		membership.Server{ID: other, Addr: c.addrs[other]})
	if turn.KindOf(err) != turn.Unavailable {
		t.Errorf("a follower handed over: %v", err)
	}
	if err := (transfer{follower.Node}).force(t.Context()); turn.KindOf(err) != turn.Unavailable {
		t.Errorf("a follower handed over by force: %v", err)
	}
	term, _ := leader.lead.Serves()
	if heard := (transfer{follower.Node}).ask(t.Context()); !heard.leadSince(term-1) || heard.leadSince(term) {
		t.Errorf("a leader of term %d has been replaced by one of term %d, and by nothing else", term-1, term)
	}
}

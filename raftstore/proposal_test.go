package raftstore

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/membership"
	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/requests"
	"github.com/turnlog/turnlog/turn"
	"github.com/turnlog/turnlog/wal"
)

// An entry that Raft takes in another term than that for which it was proposed does
// not get into the log, and it is certain that it does not.
func TestEntriesForAnotherTermAreNotStored(t *testing.T) {
	c := newCluster(t, 1)
	n := c.leader()
	put(t, n, "s", "before")
	op, err := codec.EncodeOp(&turn.Append{Key: key("s"), Messages: []turn.NewMessage{{Data: []byte("late")}}})
	if err != nil {
		t.Fatal(err)
	}
	_, term, _ := n.raft.State()
	entry := codec.AppendEntry(nil, 1, []codec.Command{{Op: op}})
	last := n.raft.Load().LastIndex()
	err = n.raft.Load().ApplyLog(raftlog.NewProposal(term-1, entry), 0).Error()
	if f := classify(err); !errors.Is(err, raftlog.ErrOtherTerm) || !f.Definite {
		t.Fatalf("an entry for the term before: %v, %+v", err, f)
	}
	var log raft.Log
	if err := n.data.Log.GetLog(last+1, &log); err == nil && log.Term <= term {
		t.Fatalf("entry %d of term %d is in the log", log.Index, log.Term)
	}
	put(t, c.leader(), "s", "after")
	if got := texts(t, n, "s", turn.Linearizable); len(got) != 2 {
		t.Fatalf("the session has %q", got)
	}
}

// What makes an entry a proposal is neither stored nor sent.
func TestProposalsLeaveNoTrace(t *testing.T) {
	c := newCluster(t, 3)
	put(t, c.leader(), "s", "x")
	c.level()
	for _, n := range c.nodes {
		last, _ := n.data.Log.LastIndex()
		for i := uint64(1); i <= last; i++ {
			var log raft.Log
			if err := n.data.Log.GetLog(i, &log); err != nil || len(log.Extensions) > 0 {
				t.Fatalf("entry %d on %s: %v, extension %x", i, n.id, err, log.Extensions)
			}
		}
	}
}

// A change of the configuration that Raft takes in a later term was decided on an
// earlier configuration. Raft goes on with one that is not stored, so the node stops.
func TestChangesOfAnEarlierTermAreNotStored(t *testing.T) {
	c := newCluster(t, 3)
	n, f := c.pair()
	_, term, _ := n.raft.State()
	n.data.Log.ReconfigureIn(term - 1)
	n.raft.Load().RemoveServer(raft.ServerID(f.id), 0, hang)
	<-n.failure.Known()
	if err := n.failure.Reason(); !errors.Is(err, raftlog.ErrOtherTerm) {
		t.Fatalf("the node stopped: %v", err)
	}
	<-n.done
	delete(c.nodes, n.id)
	c.start(n.id)
	c.ready()
	for _, n := range c.nodes {
		if got := len(n.raft.Configuration()); got != 3 {
			t.Fatalf("%s has a configuration of %d", n.id, got)
		}
	}
}

// A change of the configuration is not begun in a term that is over, though the node leads again: the log
// would refuse it, and stop the node.
func TestChangeOfAnEndedTermIsNotBegun(t *testing.T) {
	c := newCluster(t, 1)
	n := c.leader()
	_, term, _ := n.raft.State()
	begun := errors.New("it is begun")
	decide := func(membership.Configuration) (raft.Future, error) { return nil, begun }
	ended := propose.NewTerm(term-1, leaderLog{n.raft.Load()}, nil)
	if err := n.members.Reconfigure(t.Context(), ended, decide); !errors.As(err, new(requests.Moved)) {
		t.Errorf("a change of term %d in term %d: %v", term-1, term, err)
	}
	if err := n.members.Reconfigure(t.Context(), n.writes.proposer.Current(), decide); !errors.Is(err, begun) {
		t.Errorf("a change of term %d: %v", term, err)
	}
}

// A change is decided on a configuration that no other change is about to replace.
func TestChangesOfTheConfigurationFollowEachOther(t *testing.T) {
	c := newCluster(t, 3)
	n := c.leader()
	lt := n.writes.proposer.Current()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	done := errors.New("it is decided")
	err := n.members.Reconfigure(t.Context(), lt, func(membership.Configuration) (raft.Future, error) {
		decided := false
		err := n.members.Reconfigure(ctx, lt, func(membership.Configuration) (raft.Future, error) {
			decided = true
			return nil, done
		})
		if turn.KindOf(err) != turn.Unavailable || decided {
			t.Errorf("a change began beside another: %v", err)
		}
		return nil, done
	})
	if !errors.Is(err, done) {
		t.Errorf("the change ends with: %v", err)
	}
}

// fullable is a log whose disk can be full.
type fullable struct {
	raftlog.Engine
	full *atomic.Bool
}

func (f fullable) Append(logs []*raft.Log) error {
	if f.full.Load() {
		return wal.ErrNoSpace
	}
	return f.Engine.Append(logs)
}

func (f fullable) Room() int64 {
	if f.full.Load() {
		return 0
	}
	return f.Engine.Room()
}

// A change of the configuration for which there is no room in the log is refused, and stops
// no node: Raft would go on with it as if it were stored.
func TestConfigurationOnAFullDisk(t *testing.T) {
	c := reserve(t, 3)
	full := make(map[string]*atomic.Bool)
	for _, id := range ids(3) {
		full[id] = new(atomic.Bool)
		c.start(id, func(cfg *Config) {
			cfg.Log.wrap = func(e raftlog.Engine) raftlog.Engine { return fullable{e, full[id]} }
		})
	}
	c.recordedAll()
	leader, f := c.pair()
	full[leader.id].Store(true)
	err := leader.members.Make(t.Context(), requests.Change{Kind: requests.Remove, ID: f.id})
	full[leader.id].Store(false)
	if !turn.Is(err, turn.ReadOnly) {
		t.Errorf("the change ends with: %v", err)
	}
	if why := leader.failure.Reason(); why != nil {
		t.Fatalf("the leader stops: %v", why)
	}
	c.change(func(leader *running) error { return leader.members.RemoveNode(t.Context(), f.id) })
	if err := c.ended(f); !errors.Is(err, ErrRemoved) {
		t.Errorf("the removed node ends with: %v", err)
	}
}

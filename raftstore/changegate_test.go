package raftstore

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/membership"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/requests"
	"github.com/turnlog/turnlog/turn"
)

// holdsChanges is a log that stores no change of the configuration before it is let go.
type holdsChanges struct {
	raftlog.Engine
	held  *atomic.Bool
	begun chan struct{}
	letGo chan struct{}
}

func (h holdsChanges) Append(logs []*raft.Log) error {
	if h.held.Load() && slices.ContainsFunc(logs, func(l *raft.Log) bool { return l.Type == raft.LogConfiguration }) {
		h.begun <- struct{}{}
		<-h.letGo
	}
	return h.Engine.Append(logs)
}

// The caller of a change leaves while the change is being stored. The next one is not decided on the configuration
// of before: each of the two leaves a majority, and both together do not.
func TestChangeWhoseCallerLeftIsSeenByTheNextOne(t *testing.T) {
	log := holdsChanges{held: new(atomic.Bool), begun: make(chan struct{}), letGo: make(chan struct{})}
	c := newCluster(t, 4, func(cfg *Config) {
		cfg.Calls.LeaderWait = time.Second
		cfg.Consensus.Heartbeat, cfg.Consensus.Election, cfg.Consensus.Lease = 2*time.Second, 2*time.Second,
			2*time.Second
		cfg.Storage.SlowSync, cfg.Storage.StuckSync = hang, 2*hang
		cfg.Log.wrap = func(e raftlog.Engine) raftlog.Engine {
			if cfg.NodeID != "n1" {
				return e
			}
			of := log
			of.Engine = e
			return of
		}
	})
	c.ready()
	c.leadBy("n1")
	n1 := c.nodes["n1"]
	eventuallyTrue(t, "demotion is possible", func() bool { return n1.data.State.Level() >= turn.Level2 })
	c.kill("n4")
	c.leadBy("n1")
	lt := n1.writes.proposer.Current()

	log.held.Store(true)
	leaves, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { left <- n1.members.Make(leaves, requests.Change{Kind: requests.Demote, ID: "n2"}) }()
	<-log.begun
	leave()
	if err := <-left; !turn.Is(err, turn.Unknown) {
		t.Errorf("the change whose caller left ends with: %v", err)
	}
	seen := func(ctx context.Context) (now membership.Configuration, err error) {
		decided := errors.New("it is decided")
		err = n1.members.Reconfigure(ctx, lt, func(c membership.Configuration) (raft.Future, error) {
			now = c
			return nil, decided
		})
		if errors.Is(err, decided) {
			err = nil
		}
		return now, err
	}
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	if now, err := seen(soon); err == nil {
		t.Errorf("while a change is being stored, another one is decided on %v", now)
	}
	cancel()
	log.held.Store(false)
	close(log.letGo)
	now, err := seen(t.Context())
	if s, found := now.Find("n2"); err != nil || !found || s.Voter {
		t.Fatalf("the next change is decided on %v: %v", now, err)
	}
	err = n1.members.Make(t.Context(), requests.Change{Kind: requests.Demote, ID: "n3"})
	if !turn.Is(err, turn.Unavailable) {
		t.Errorf("with it no majority is left, and it ends with: %v", err)
	}
	put(t, c.leader(), "s", "x")
}

package raftstore

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/hashicorp/raft"
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
		leader.state.Halt(errors.New("a disk that hangs")) // the state is fetched from another node later
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

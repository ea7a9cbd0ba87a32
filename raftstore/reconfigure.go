package raftstore

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/membership"
	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/internal/signal"
	"github.com/turnlog/turnlog/turn"
)

// moved marks an error of a node that was asked for a change and does not lead, or is about to
// lead no more. Nothing was changed, and the next leader is to be asked.
type moved struct{ error }

func (m moved) Unwrap() error { return m.error }

// reconfigure makes one change of the configuration. decide gets the latest configuration,
// and begins a change of it, or returns why there is none to make. Nothing else changes the
// configuration in between: a leader makes one change at a time, and the log store rejects
// a change that Raft would append only in a later term, after another leader's changes.
func (mc *memberChanges) reconfigure(ctx context.Context, t *propose.Term,
	decide func(now membership.Configuration) (raft.Future, error)) error {
	if !mc.changing.enter(ctx) {
		return unavailable("the configuration was not changed: another change is still in progress (%v)", ctx.Err())
	}
	defer mc.changing.leave()
	if err := mc.node.roomForChange(ctx); err != nil {
		return err
	}
	mc.node.logs.ReconfigureIn(t.Number)
	if !t.Holds() {
		return moved{propose.NotLeader().Err}
	}
	begun, err := decide(mc.node.raft.configuration())
	if err != nil {
		return err
	}
	return changed(await(ctx, begun))
}

// spread waits a little until the other nodes have applied an entry, so that a
// member that was removed and comes back with a new directory is not turned away
// by one that lags by a moment.
func (mc *memberChanges) spread(ctx context.Context, index uint64) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	others, _ := mc.node.raft.voters()
	for _, id := range others {
		for {
			if st, err := mc.node.statusOf(ctx, id); err != nil || st.Applied >= index {
				break
			}
			if !signal.Wait(ctx, nil, 5*time.Millisecond) {
				return
			}
		}
	}
}

// changed makes a *turn.Error of a configuration change's error.
func changed(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrEnqueueTimeout),
		errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return moved{unavailable("the configuration was not changed: %v", err)}
	}
	return turn.Errorf(turn.Unknown,
		"the configuration change was begun, its outcome is unknown: %v; see the cluster's status", err)
}

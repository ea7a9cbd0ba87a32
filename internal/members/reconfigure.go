package members

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/membership"
	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/internal/requests"
	"github.com/turnlog/turnlog/internal/signal"
	"github.com/turnlog/turnlog/turn"
)

// Reconfigure makes one change of the configuration. decide gets the latest configuration,
// and begins a change of it, or returns why there is none to make. Nothing else changes the
// configuration in between: a leader makes one change at a time, and the log store rejects
// a change that Raft would append only in a later term, after another leader's changes.
//
// A change that was begun keeps the next one out until Raft has done with it, also when ctx ends before: Raft shows
// the new configuration only when it has stored it, and what is decided on the old one until then may take a majority
// away together with it.
func (mc *Changes) Reconfigure(ctx context.Context, t *propose.Term,
	decide func(now membership.Configuration) (raft.Future, error)) error {
	if !mc.changing.Enter(ctx) {
		return unavailable("the configuration was not changed: another change is still in progress (%v)", ctx.Err())
	}
	begun, err := mc.begin(ctx, t, decide)
	if err != nil {
		mc.changing.Leave()
		return err
	}
	ended := make(chan error, 1)
	go func() { // until the change is committed, or Raft leads no more in the term: it ends each that it has begun
		err := begun.Error()
		mc.changing.Leave()
		ended <- err
	}()
	select {
	case err := <-ended:
		return changed(err)
	case <-ctx.Done():
		return changed(ctx.Err())
	}
}

// begin has decide begin a change, if one can be made in the term.
func (mc *Changes) begin(ctx context.Context, t *propose.Term,
	decide func(now membership.Configuration) (raft.Future, error)) (raft.Future, error) {
	if err := mc.cfg.Room(ctx); err != nil {
		return nil, err
	}
	mc.cfg.Data.Log.ReconfigureIn(t.Number)
	if !t.Holds() {
		return nil, requests.NewMoved(propose.NotLeader().Err)
	}
	return decide(mc.cfg.Raft.Configuration())
}

// spread waits a little until the other nodes have applied an entry, so that a
// member that was removed and comes back with a new directory is not turned away
// by one that lags by a moment.
func (mc *Changes) spread(ctx context.Context, index uint64) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	others, _ := mc.cfg.Raft.Voters()
	for _, id := range others {
		for {
			if st, err := mc.cfg.Status(ctx, id); err != nil || st.Applied >= index {
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
		return requests.NewMoved(unavailable("the configuration was not changed: %v", err))
	}
	return turn.Errorf(turn.Unknown,
		"the configuration change was begun, its outcome is unknown: %v; see the cluster's status", err)
}

func unavailable(format string, args ...any) *turn.Error {
	return turn.Errorf(turn.Unavailable, format, args...)
}

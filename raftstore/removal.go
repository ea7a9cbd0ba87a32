package raftstore

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/membership"
	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/internal/readindex"
	"github.com/turnlog/turnlog/internal/signal"
	"github.com/turnlog/turnlog/turn"
)

func (mc *memberChanges) removeHere(ctx context.Context, t *propose.Term, id string) error {
	if err := mc.checkRemaining(ctx, id); err != nil {
		return err
	}
	if others, _ := mc.node.raft.voters(); id == mc.node.id && len(others) > 0 {
		if err := mc.node.TransferLeadership(ctx); err != nil {
			return err
		}
		return turn.Errorf(turn.Unknown, "the new leader must remove node %s: repeat the request", id)
	}
	err := mc.reconfigure(ctx, t, func(now membership.Configuration) (raft.Future, error) {
		if _, found := now.Find(id); !found {
			return nil, turn.Errorf(turn.NotFound, "node %s is not a member", id)
		}
		if id == mc.node.id {
			return nil, turn.Errorf(turn.Invalid, "node %s is the last voter", id)
		}
		return mc.node.raft.Load().RemoveServer(raft.ServerID(id), 0, time.Second), nil
	})
	if err != nil {
		return err
	}
	index, err := mc.forgetMember(ctx, t, id)
	if err != nil {
		return turn.Errorf(turn.Unknown, "node %s was removed, but its record may not be deleted yet: %v", id, err)
	}
	mc.spread(ctx, index)
	return nil
}

// checkRemaining refuses to remove a voter if those that remain and can be reached are no
// majority: they could not commit even the removal, and the leader would step down over it.
func (mc *memberChanges) checkRemaining(ctx context.Context, id string) error {
	remaining, voter := mc.node.raft.voters()
	removed := slices.Index(remaining, id)
	switch {
	case id == mc.node.id && voter:
		voter = false
	case removed >= 0:
		remaining = slices.Delete(remaining, removed, removed+1)
	default:
		return nil
	}
	if len(remaining) == 0 {
		return nil // it is the last one, or this one goes on alone
	}
	need := readindex.Majority(len(remaining), voter)
	ctx, cancel := context.WithTimeout(ctx, mc.node.cfg.Calls.LeaderWait)
	defer cancel()
	for {
		reached := mc.reachable(ctx, remaining)
		if reached >= need {
			return nil
		}
		if !signal.Wait(ctx, nil, 50*time.Millisecond) {
			return unavailable("node %s was not removed: of the %d other voters that would remain, %d can be "+
				"reached, and %d have to be; "+
				"bring back those that are down, or remove them first", id, len(remaining), reached, need)
		}
	}
}

// reachable returns how many of the nodes answer.
func (mc *memberChanges) reachable(ctx context.Context, ids []string) int {
	var reached atomic.Int32
	var wg sync.WaitGroup
	for _, id := range ids {
		wg.Go(func() {
			if _, err := mc.node.statusOf(ctx, id); err == nil {
				reached.Add(1)
			}
		})
	}
	wg.Wait()
	return int(reached.Load())
}

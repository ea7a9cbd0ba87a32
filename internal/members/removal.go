package members

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
	"github.com/turnlog/turnlog/internal/requests"
	"github.com/turnlog/turnlog/internal/signal"
	"github.com/turnlog/turnlog/turn"
)

func (mc *Changes) removeHere(ctx context.Context, t *propose.Term, id string) error {
	if err := mc.checkRemaining(ctx, id, "removed"); err != nil {
		return err
	}
	if err := mc.leaveToAnother(ctx, id); err != nil {
		return err
	}
	err := mc.Reconfigure(ctx, t, func(now membership.Configuration) (raft.Future, error) {
		if _, found := now.Find(id); !found {
			return nil, turn.Errorf(turn.NotFound, "node %s is not a member", id)
		}
		if id == mc.cfg.Node {
			return nil, turn.Errorf(turn.Invalid, "node %s is the last voter", id)
		}
		if err := mc.checkRemaining(ctx, id, "removed"); err != nil { // another change may have been made since
			return nil, err
		}
		return mc.cfg.Raft.Load().RemoveServer(raft.ServerID(id), 0, time.Second), nil
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

// leaveToAnother has another node lead if this one is to lose its vote, and returns that the next leader is to be
// asked. It does nothing if there is no other voter.
func (mc *Changes) leaveToAnother(ctx context.Context, id string) error {
	if others, _ := mc.cfg.Raft.Voters(); id != mc.cfg.Node || len(others) == 0 {
		return nil
	}
	if err := mc.cfg.HandOver(ctx); err != nil {
		if !mc.cfg.Raft.Leads() { // there is a next leader all the same, or will be
			return requests.NewMoved(err)
		}
		return err
	}
	return turn.Errorf(turn.Unknown, "node %s has handed leadership over, and the new leader must make the change: "+
		"repeat the request", id)
}

// checkRemaining refuses to take a voter away if those that remain and can be reached are no
// majority: they could not commit even this change, and the leader would step down over it. taken is how it is called.
func (mc *Changes) checkRemaining(ctx context.Context, id, taken string) error {
	remaining, voter := mc.cfg.Raft.Voters()
	removed := slices.Index(remaining, id)
	switch {
	case id == mc.cfg.Node && voter:
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
	ctx, cancel := context.WithTimeout(ctx, mc.cfg.LeaderWait)
	defer cancel()
	for {
		reached := mc.reachable(ctx, remaining, mc.cfg.Data.Log.LastDurable())
		if reached >= need {
			return nil
		}
		if !signal.Wait(ctx, nil, 50*time.Millisecond) {
			return unavailable("node %s was not %s: of the %d other voters that would remain, %d are "+
				"reachable and up to date, but %d must be; "+
				"bring back those that are down, or remove them first", id, taken, len(remaining), reached, need)
		}
	}
}

// reachable returns how many of the nodes answer and can commit what this one has: those that start, stop, lack the
// end of their log or are far behind may take long to, or never do.
func (mc *Changes) reachable(ctx context.Context, ids []string, last uint64) int {
	var reached atomic.Int32
	var wg sync.WaitGroup
	for _, id := range ids {
		wg.Go(func() {
			if st, err := mc.cfg.Status(ctx, id); err == nil && st.Commits() && st.Last+near >= last {
				reached.Add(1)
			}
		})
	}
	wg.Wait()
	return int(reached.Load())
}

package members

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/membership"
	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/internal/requests"
	"github.com/turnlog/turnlog/turn"
)

// Raft's configuration says which members are learners: it is in the log of every node, and in its snapshots. Nothing
// gives a learner a vote but a request that names it. The state's records say it, too, for a node that cannot read
// all of its log: see datadir.

// addLearnerHere makes a node a learner that is to stay one, and waits until it has caught up.
func (mc *Changes) addLearnerHere(ctx context.Context, t *propose.Term, c requests.Change) error {
	now := mc.cfg.Raft.Configuration()
	if err := memberIn(now, c); err != nil {
		return err
	}
	if s, found := now.Find(c.ID); found && s.Addr == c.Addr && mc.cfg.Data.Recorded(c.ID) != "" {
		if err := mc.untilCaughtUp(ctx, t, c.ID); err != nil {
			return notAwaited(c.ID, err)
		}
		return turn.Errorf(turn.Exists, "node %s is a learner already", c.ID)
	}
	if err := mc.join(ctx, t, c); err != nil {
		return err
	}
	if err := mc.untilCaughtUp(ctx, t, c.ID); err != nil {
		return notAwaited(c.ID, err)
	}
	return nil
}

func notAwaited(id string, err error) error {
	if turn.Is(err, turn.NotFound) {
		return err
	}
	return turn.Errorf(turn.Unknown, "node %s is a learner; it was not waited for until it has caught up: %v", id, err)
}

// promoteHere gives a learner that has caught up a vote. One that has not would keep the others from committing.
func (mc *Changes) promoteHere(ctx context.Context, t *propose.Term, id string) error {
	s, found := mc.cfg.Raft.Configuration().Find(id)
	switch {
	case !found:
		return turn.Errorf(turn.NotFound, "node %s is not a member", id)
	case s.Voter:
		return turn.Errorf(turn.Exists, "node %s is a voter already", id)
	}
	switch err := mc.untilCaughtUp(ctx, t, id); {
	case errors.Is(err, errTermEnded):
		return requests.NewMoved(turn.Errorf(turn.Unavailable, "node %s was not promoted: %v", id, err))
	case turn.Is(err, turn.NotFound):
		return err
	case err != nil:
		return turn.Errorf(turn.Unavailable, "node %s was not promoted: %v", id, err)
	}
	return mc.giveVote(ctx, t, id, s.Addr)
}

// demoteHere takes a voter's vote.
func (mc *Changes) demoteHere(ctx context.Context, t *propose.Term, id string) error {
	if !mc.tellsLearners() {
		return turn.Errorf(turn.Unavailable, "node %s was not demoted: that needs cluster level %d, and the cluster "+
			"is at %d", id, turn.Level2, mc.cfg.Data.State.Level())
	}
	if err := demotable(mc.cfg.Raft.Configuration(), id); err != nil {
		return err
	}
	if err := mc.checkRemaining(ctx, id, "demoted"); err != nil {
		return err
	}
	if err := mc.leaveToAnother(ctx, id); err != nil {
		return err
	}
	err := mc.Reconfigure(ctx, t, func(now membership.Configuration) (raft.Future, error) {
		if err := demotable(now, id); err != nil {
			return nil, err
		}
		if err := mc.checkRemaining(ctx, id, "demoted"); err != nil { // another change may have been made since
			return nil, err
		}
		return mc.cfg.Raft.Load().DemoteVoter(raft.ServerID(id), 0, time.Second), nil
	})
	if err == nil {
		mc.Record(ctx, t) // else the leader does so in a moment
	}
	return err
}

// demotable is an error if a node has no vote that could be taken.
func demotable(now membership.Configuration, id string) error {
	s, found := now.Find(id)
	switch others, _ := now.Voters(id); {
	case !found:
		return turn.Errorf(turn.NotFound, "node %s is not a member", id)
	case !s.Voter:
		return turn.Errorf(turn.Exists, "node %s is a learner already", id)
	case len(others) == 0:
		return turn.Errorf(turn.Invalid, "node %s is the last voter", id)
	}
	return nil
}

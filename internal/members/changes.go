package members

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/turnlog/turnlog/internal/datadir"
	"github.com/turnlog/turnlog/internal/group"
	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/internal/requests"
	"github.com/turnlog/turnlog/internal/signal"
	"github.com/turnlog/turnlog/turn"
)

// Config configures Changes. All fields are required but for Closed; any goroutine may call the functions.
type Config struct {
	Node   string // its id
	Addr   string // under which it is reached now
	Closed string // if not empty, why no node can be added

	Raft   *group.Group
	Lead   *group.KnownLeader
	Data   *datadir.Dir
	Peers  requests.Client
	Status func(ctx context.Context, id string) (requests.Status, error)
	// Term is the term in which this node leads, nil if it does not. Propose proposes an operation in one.
	Term    func() *propose.Term
	Propose func(ctx context.Context, t *propose.Term, op turn.Op) (turn.Result, error)
	// HandOver has this node, which leads, hand over to another one.
	HandOver func(ctx context.Context) error
	// Room returns why a change of the configuration may find no room in the log, nil if it will.
	Room func(ctx context.Context) error
	// Changed is called when the configuration has one more member.
	Changed func()
	// Joining is held while a node is found fit to join, until it is a member.
	Joining signal.Gate

	LeaderWait time.Duration // how long a change waits for a leader
	Logger     *slog.Logger
}

// Changes makes the changes of the members, on the leader or by way of it. Any goroutine may call its methods.
type Changes struct {
	cfg      Config
	changing signal.Gate // for one change of the configuration at a time
}

// New returns Changes, which start nothing.
func New(cfg Config) *Changes { return &Changes{cfg: cfg, changing: signal.NewGate()} }

// AddNode makes the node id at addr a member: first as a learner, then, when it
// holds the log, as a voter. The node must run, with an empty data directory and
// the setting to join a cluster. It may be called on any node, and again if it fails.
func (mc *Changes) AddNode(ctx context.Context, id, addr string) error {
	if err := checkAddition(id, addr); err != nil {
		return err
	}
	return mc.change(ctx, requests.Change{Kind: requests.Add, ID: id, Addr: addr})
}

// AddLearner makes the node id at addr a member without a vote, and returns when it has caught up. It stays
// without one, through restarts and changes of leader, until Promote or AddNode gives it one. Otherwise it is
// as AddNode.
func (mc *Changes) AddLearner(ctx context.Context, id, addr string) error {
	if err := checkAddition(id, addr); err != nil {
		return err
	}
	return mc.change(ctx, requests.Change{Kind: requests.AddLearner, ID: id, Addr: addr})
}

// Promote gives a learner a vote, once it has caught up. It may be called on any node, and again if it fails.
func (mc *Changes) Promote(ctx context.Context, id string) error {
	return mc.change(ctx, requests.Change{Kind: requests.Promote, ID: id})
}

// Demote takes a voter's vote: it stays a member, as a learner. It is refused if the voters that would remain
// and can be reached are no majority. A node that leads hands over first. It may be called on any node, and again
// if it fails.
func (mc *Changes) Demote(ctx context.Context, id string) error {
	return mc.change(ctx, requests.Change{Kind: requests.Demote, ID: id})
}

func checkAddition(id, addr string) error {
	if id == "" || len(id) > 64 || addr == "" {
		return turn.Errorf(turn.Invalid, "adding a node needs an id of 1 to 64 bytes and an address")
	}
	return nil
}

// RemoveNode ends the membership of a node; it stops by itself if it runs. It may
// be called on any node, and again if it fails.
func (mc *Changes) RemoveNode(ctx context.Context, id string) error {
	return mc.change(ctx, requests.Change{Kind: requests.Remove, ID: id})
}

// HandOver has the leader hand over to another voter. It may be called on any node.
func (mc *Changes) HandOver(ctx context.Context) error {
	return mc.changeOnce(ctx, requests.Change{Kind: requests.Transfer})
}

// change has the leader make a change.
func (mc *Changes) change(ctx context.Context, c requests.Change) error {
	return mc.repeat(ctx, c, func() error { return mc.changeOnce(ctx, c) })
}

// repeat attempts a change again if its outcome is unknown: a change that took place already
// is not made twice. If leadership moves, the next leader is asked, for as long as others wait for one.
func (mc *Changes) repeat(ctx context.Context, c requests.Change, attempt func() error) error {
	limit := time.Now().Add(mc.cfg.LeaderWait)
	for again := false; ; {
		err := attempt()
		if err == nil {
			return nil
		}
		if errors.As(err, new(requests.Moved)) && time.Now().Before(limit) {
			if _, changed := mc.cfg.Lead.Leader(); signal.Wait(ctx, changed, 50*time.Millisecond) {
				continue
			}
		}
		if again {
			err = afterUnknown(err)
		}
		switch kind := turn.KindOf(err); {
		case again && kind == madeBefore(c.Kind):
			return nil
		case kind != turn.Unknown:
			return err
		}
		again = true
		_, changed := mc.cfg.Lead.Leader()
		if !signal.Wait(ctx, changed, 50*time.Millisecond) {
			return err
		}
	}
}

// madeBefore is the kind of error by which a change is refused that was made already.
func madeBefore(k requests.ChangeKind) turn.Kind {
	if k == requests.Remove {
		return turn.NotFound
	}
	return turn.Exists
}

// afterUnknown is what an error means when the outcome of an earlier attempt is not
// known: that this one was refused says nothing about that one.
func afterUnknown(err error) error {
	switch turn.KindOf(err) {
	case turn.Unavailable, turn.Overloaded, turn.Internal:
		return turn.Errorf(turn.Unknown,
			"an earlier attempt may have succeeded; the last one failed: %s; see the cluster's status",
			turn.AsError(err).Message)
	}
	return err
}

func (mc *Changes) changeOnce(ctx context.Context, c requests.Change) error {
	leader, err := mc.waitLeader(ctx)
	if err != nil {
		return err
	}
	if leader == mc.cfg.Node {
		return mc.Make(ctx, c)
	}
	return mc.cfg.Peers.Change(ctx, leader, c)
}

// waitLeader returns the leader's id as soon as there is one.
func (mc *Changes) waitLeader(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, mc.cfg.LeaderWait)
	defer cancel()
	for {
		leader, changed := mc.cfg.Lead.Leader()
		if leader != "" {
			return leader, nil
		}
		if !signal.Wait(ctx, changed, 0) {
			return "", unavailable("no leader within %v", mc.cfg.LeaderWait)
		}
	}
}

// Make makes a change as the leader. All steps take place in one leader term,
// each on the configuration for which it was decided: see Reconfigure.
func (mc *Changes) Make(ctx context.Context, c requests.Change) error {
	t := mc.cfg.Term()
	if t == nil || !t.Holds() {
		return requests.NewMoved(propose.NotLeader().Err)
	}
	switch c.Kind {
	case requests.Transfer:
		return mc.cfg.HandOver(ctx)
	case requests.Remove:
		return mc.removeHere(ctx, t, c.ID)
	case requests.Add:
		return mc.addHere(ctx, t, c)
	case requests.AddLearner:
		return mc.addLearnerHere(ctx, t, c)
	case requests.Promote:
		return mc.promoteHere(ctx, t, c.ID)
	case requests.Demote:
		return mc.demoteHere(ctx, t, c.ID)
	}
	return turn.Errorf(turn.Invalid, "the leader's version of turnlog does not know the change %q", c.Kind)
}

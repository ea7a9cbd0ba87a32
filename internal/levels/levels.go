package levels

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/requests"
	"github.com/turnlog/turnlog/internal/signal"
	"github.com/turnlog/turnlog/turn"
)

// Config configures Levels. Any goroutine may call its functions.
type Config struct {
	Node   string             // its id
	Known  turn.ClusterLevel  // the highest level that this node's version knows
	Hold   *turn.ClusterLevel // that at which this node holds the cluster; nil: it does not
	Limits turn.Limits

	// Level returns the cluster's level as far as this node has applied it, Recorded the incarnation by which its
	// state knows a member, empty if it does not.
	Level    func() turn.ClusterLevel
	Recorded func(id string) string
	// Leader returns the leader's id, empty if none is known, and a channel that is closed when that may have
	// changed. Members are those of the latest configuration.
	Leader  func() (id string, changed <-chan struct{})
	Members func() []string
	Status  func(ctx context.Context, id string) (requests.Status, error)

	LeaderWait time.Duration // how long a caller waits at most for a leader that tells the level
	Logger     *slog.Logger
}

// Levels knows at which level the cluster is. Any goroutine may call its methods.
type Levels struct {
	cfg Config
	// Joining is held while a node is found fit to join, until it is a member, and while the level is raised.
	Joining signal.Gate
}

// New returns Levels, which start nothing.
func New(cfg Config) *Levels { return &Levels{cfg: cfg, Joining: signal.NewGate()} }

// allowed is the highest level that this node lets the cluster go to.
func (l *Levels) allowed() turn.ClusterLevel {
	if hold := l.cfg.Hold; hold != nil {
		return min(l.cfg.Known, *hold)
	}
	return l.cfg.Known
}

// Raise has the cluster, which this node leads, go to the highest level that every member knows and
// none holds it below. A member that does not answer may be of any version, so it
// keeps the level where it is; so does a learner, which will vote.
//
// Before that, each member is recorded: later the records tell who the members are.
//
// No node joins meanwhile (Joining): one that was found fit for the level of
// before could not follow. While one is joining, the level waits.
func (l *Levels) Raise(ctx context.Context, propose func(context.Context, turn.Op) error) {
	now := l.cfg.Level()
	if l.allowed() <= now || !l.allRecorded() || !l.Joining.Try() {
		return
	}
	defer l.Joining.Leave()
	to := l.common(ctx)
	if to <= now {
		return
	}
	if err := propose(ctx, &codec.SetLevel{Level: to}); err != nil {
		l.cfg.Logger.Info("the cluster's level is not raised yet", "level", now, "to", to, "error", err)
		return
	}
	l.cfg.Logger.Info("the cluster's level is raised", "level", to, "from", now)
}

// allRecorded reports whether the state records every member.
func (l *Levels) allRecorded() bool {
	members := append(l.cfg.Members(), l.cfg.Node)
	return !slices.ContainsFunc(members, func(id string) bool { return l.cfg.Recorded(id) == "" })
}

// common returns the highest level that all members allow, as they say now.
func (l *Levels) common(ctx context.Context) turn.ClusterLevel {
	members := l.cfg.Members()
	allowed := make([]turn.ClusterLevel, len(members))
	var wg sync.WaitGroup
	for i, id := range members {
		wg.Go(func() {
			if st, err := l.cfg.Status(ctx, id); err == nil {
				allowed[i] = st.AllowedLevel()
			}
		})
	}
	wg.Wait()
	common := l.allowed()
	for _, level := range allowed {
		common = min(common, level)
	}
	return common
}

// Await refuses what the cluster is not ready for; nil if it is. The level that this node has
// applied may be an old one, and is 0 in a member that has no state yet, or has lost it: before the
// node refuses, it asks the leader.
func (l *Levels) Await(ctx context.Context, needs turn.ClusterLevel) *turn.Error {
	if needs <= l.cfg.Level() {
		return nil
	}
	level, known := l.leaderLevel(ctx, needs)
	if !known {
		return turn.Errorf(turn.Unavailable, "this needs cluster level %d, and this node does not know at which level "+
			"the cluster is: no leader told in time", needs)
	}
	return belowLevel(needs, level)
}

// leaderLevel returns the cluster's level, of which the leader knows that it has applied all raises;
// or, if the leader's version does not know the level that is asked for, a lower one.
func (l *Levels) leaderLevel(ctx context.Context, needs turn.ClusterLevel) (level turn.ClusterLevel, known bool) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.LeaderWait)
	defer cancel()
	for {
		leader, changed := l.cfg.Leader()
		if leader != "" {
			s, err := l.cfg.Status(ctx, leader)
			switch {
			case err != nil:
			case s.Level != nil:
				return max(*s.Level, l.cfg.Level()), true
			case s.KnownLevel < needs:
				return l.cfg.Level(), true
			}
		}
		if !signal.Wait(ctx, changed, 15*time.Millisecond) {
			return 0, false
		}
	}
}

// Check is Await by the level that this node has applied, which is never above the
// cluster's.
func (l *Levels) Check(needs turn.ClusterLevel) *turn.Error {
	return belowLevel(needs, l.cfg.Level())
}

// belowLevel refuses what needs a higher level than the cluster's.
func belowLevel(needs, level turn.ClusterLevel) *turn.Error {
	if needs <= level {
		return nil
	}
	return turn.Errorf(turn.Unavailable, "this needs cluster level %d, and the cluster is at level %d, which rises "+
		"when every member runs a version that supports it; see turnlog cluster status", needs, level)
}

// AwaitQuery is Await for a query.
func (l *Levels) AwaitQuery(ctx context.Context, q turn.Query) *turn.Error {
	if l.cfg.Level() == turn.NewestLevel {
		return nil // as nearly always
	}
	_, needs, err := codec.EncodeQueryLevel(q)
	if err != nil {
		return turn.AsError(err)
	}
	return l.Await(ctx, needs)
}

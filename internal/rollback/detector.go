package rollback

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/signal"
	"github.com/turnlog/turnlog/internal/vote"
)

const (
	// askEvery is how often the nodes tell each other how far they are.
	askEvery = time.Second
	// askSoon is the same for nodes that have not answered since the start.
	askSoon = 20 * time.Millisecond
	// askTimeout bounds the wait for one answer.
	askTimeout = 500 * time.Millisecond
	// saveEvery is how often what was seen is saved, while it changes.
	saveEvery = 10 * time.Second
)

// Config configures a Detector.
type Config struct {
	Node        string // this node's id
	Incarnation string // of its data directory
	Boot        uint64 // the number of this start, random; not 0

	Seen   *Observations
	Mark   *raftlog.HighWater
	Terms  *vote.Store
	LogEnd func() (raftlog.Position, error)

	Cluster Cluster
	Ballot  Ballot
	// Ask sends a question to a node and returns its answer. A *peer.RemoteError says that the
	// node is of a version that does not know the question.
	Ask func(ctx context.Context, id string, question []byte) (answer []byte, err error)

	// Checked is closed when the log was held against its mark, which may be behind it until then.
	Checked <-chan struct{}
	// Whole is called each time that the node has found that its log has all that it had.
	Whole func()
	// Fail stops the node, Failed returns why it is stopped.
	Fail   func(error)
	Failed func() error
	Logger *slog.Logger
}

// Detector holds what the other members saw of this node against what it has, and tells them what
// it saw of them. All methods may be called by any goroutine.
type Detector struct {
	cfg        Config
	introduced introductions
	soon       signal.Channel // another node can be asked
}

// New returns a Detector. It does nothing until Run.
func New(cfg Config) *Detector { return &Detector{cfg: cfg, soon: signal.New()} }

// Wake has Run ask now: another node can be reached.
func (d *Detector) Wake() { d.soon.Notify() }

// others are the other members, voters or not.
func (d *Detector) others() []string {
	return slices.DeleteFunc(d.cfg.Cluster.Members(), func(id string) bool { return id == d.cfg.Node })
}

// heardAll reports whether all those have answered that this node knows, and all have told what they
// saw to whom those have introduced it.
func (d *Detector) heardAll(ids []string, answered answers) bool {
	return !slices.ContainsFunc(ids, func(id string) bool { return !answered.has(id) }) &&
		!d.introduced.await(d.cfg.Node, ids)
}

func (d *Detector) save() {
	if err := d.cfg.Seen.Save(); err != nil {
		d.cfg.Logger.Warn("cannot save what was seen of the other nodes", "error", err)
	}
}

// answers are the nodes that have answered since the start, and whether they could tell
// what they had seen: an older turnlog cannot.
type answers map[string]bool

func (a answers) has(id string) bool {
	_, has := a[id]
	return has
}

package rollback

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/turnlog/turnlog/internal/peer"
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

// Cluster is what a Detector asks of its node about the cluster.
type Cluster interface {
	// Members returns the servers of the latest configuration, committed or not, in a new slice.
	// There are none before Raft runs.
	Members() []string
	// Voters splits its voters into the others and this node.
	Voters() (others []string, self bool)
	// Known is Members, and the members that the state records.
	Known() []string
	// Replaced reports whether the cluster knows a node by another data directory than this.
	Replaced(node peer.Facts) bool
	// Leader returns the leader's id, empty if none is known, Term the current term.
	Leader() string
	Term() uint64
}

// Ballot is what holds back the node's votes: see package ballot.
type Ballot interface {
	// Ready returns why the node may not vote yet, nil if it may. Asked ends the time of asking.
	Ready() error
	Asked()
	// Past notes a term that another member was in. Forgotten returns a term up to which this
	// node may have made promises that it does not know of.
	Past(term uint64)
	Forgotten() uint64
}

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

// Run tells the other members how far this node is, and hears what they have
// seen of it, until ctx ends. After a start the node votes when all have answered; one that does not
// answer is not waited for longer than others wait for a leader.
func (d *Detector) Run(ctx context.Context) {
	answered := make(answers)
	saved := time.Now()
	wait := time.NewTimer(0)
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			d.save()
			return
		case <-d.soon:
		case <-wait.C:
		}
		ids := d.others()
		d.ask(ctx, ids, answered)
		d.endDoubt(answered)
		if _, missing := d.cfg.Mark.Lost(); !missing {
			d.cfg.Whole()
		}
		next := askEvery
		if d.heardAll(ids, answered) {
			d.cfg.Ballot.Asked()
		} else if d.cfg.Ballot.Ready() != nil {
			next = askSoon
		}
		if time.Since(saved) >= saveEvery {
			saved = time.Now()
			d.cfg.Seen.Keep(d.others())
			d.save()
		}
		wait.Reset(next)
	}
}

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

// ask tells the given nodes how far this one is, and notes in answered which of them have answered.
// What they have seen counts the first time: what this node said in between is no news.
func (d *Detector) ask(ctx context.Context, ids []string, answered answers) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	p := d.cfg.Mark.Position()
	l, missing := d.cfg.Mark.Lost()
	q := question{
		Observation: Observation{Index: p.Index, Term: p.Term, Promised: d.cfg.Terms.Promised()},
		Boot:        d.cfg.Boot, Doubt: missing && l.Doubt > 0,
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, id := range ids {
		payload, err := json.Marshal(q.to(d.cfg.Seen.Last(id)))
		if err != nil {
			continue // plain numbers and an id: it cannot fail
		}
		wg.Go(func() {
			answer, err := d.cfg.Ask(ctx, id, payload)
			mu.Lock()
			defer mu.Unlock()
			d.heard(answered, id, answer, err)
		})
	}
	wg.Wait()
}

// heard notes another node's answer.
func (d *Detector) heard(answered answers, id string, answer []byte, err error) {
	var old *peer.RemoteError // an older turnlog does not know the question
	switch {
	case answered.has(id):
	case errors.As(err, &old):
		answered[id] = false
	case err == nil && d.compare(id, answer):
		answered[id] = true
	}
}

// compare holds what another node answered against what this node has. It reports whether
// the other could say anything.
func (d *Detector) compare(id string, answer []byte) bool {
	var r reply
	if json.Unmarshal(answer, &r) != nil {
		return false
	}
	d.past(r.Own)
	d.judge(id, r.statement)
	d.introduce(r.Members)
	return true
}

// Answer answers another node's question.
func (d *Detector) Answer(from peer.Facts, payload []byte) ([]byte, error) {
	var now question
	if err := json.Unmarshal(payload, &now); err != nil {
		return nil, err
	}
	now.Incarnation = from.Incarnation
	before := Observation{}
	replaced := d.cfg.Cluster.Replaced(from) // it may have been since the connection was made
	if !replaced && slices.Contains(d.cfg.Cluster.Members(), from.NodeID) {
		before = d.cfg.Seen.Met(from.NodeID, now.Observation, now.Boot)
		d.cfg.Seen.noteDoubt(from.NodeID, now.Doubt)
	}
	if now.Seen != nil {
		d.toldUnasked(from.NodeID, statement{*now.Seen, now.Promised})
	}
	return json.Marshal(reply{statement{before, d.cfg.Terms.Promised()}, d.cfg.Cluster.Known()})
}

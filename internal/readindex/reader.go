package readindex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/answers"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/signal"
	"github.com/turnlog/turnlog/internal/trace"
	"github.com/turnlog/turnlog/turn"
)

// ErrNotLeader is why a node does not answer as the leader: another node is to be asked.
var ErrNotLeader = errors.New("readindex: the node does not lead, or is about to lead no more")

// Reader answers queries. All methods may be called by any goroutine.
type Reader struct {
	self     string
	cluster  Cluster
	peers    Peers
	state    State
	wait     time.Duration // for a leader
	leader   *leaderIndexes
	follower *followerIndexes

	tracer    *trace.Tracer // nil: nothing is traced
	fresh     freshness
	forwarded atomic.Uint64
}

// Config configures a Reader.
type Config struct {
	Self       string // the node's id
	Cluster    Cluster
	Peers      Peers
	State      State
	LeaderWait time.Duration // how long a query waits for a leader
	RoundLimit time.Duration // of one attempt to get a read index
	Tracer     *trace.Tracer // nil: nothing is traced
}

// New returns a Reader, which gets no read indexes until Lead and Follow run.
func New(c Config) *Reader {
	return &Reader{
		self: c.Self, cluster: c.Cluster, peers: c.Peers, state: c.State, wait: c.LeaderWait, tracer: c.Tracer,
		leader:   newLeaderIndexes(c.Cluster, c.Peers, c.RoundLimit),
		follower: newFollowerIndexes(c.Self, c.Cluster, c.Peers, c.RoundLimit),
	}
}

// Lead runs the rounds of this node as the leader, until ctx ends.
func (r *Reader) Lead(ctx context.Context) { r.leader.Run(ctx) }

// Follow runs the rounds of this node while another one leads, until ctx ends.
func (r *Reader) Follow(ctx context.Context) { r.follower.Run(ctx) }

// LeaderStats counts the rounds of this node as the leader.
func (r *Reader) LeaderStats() Stats { return r.leader.Stats() }

// Forwarded returns how many queries went to the leader.
func (r *Reader) Forwarded() uint64 { return r.forwarded.Load() }

// LeaderIndex returns a read index if this node leads.
func (r *Reader) LeaderIndex(ctx context.Context) (uint64, bool) { return r.leader.Index(ctx) }

// Within reports whether this node's state is known to include what was acknowledged so long ago.
func (r *Reader) Within(age time.Duration) bool { return r.fresh.within(age, time.Now()) }

// Index gets a read index from the leader, whichever node that is, in one attempt.
func (r *Reader) Index(ctx context.Context) (uint64, bool) {
	switch leader, _ := r.cluster.Leader(); leader {
	case "":
		return 0, false
	case r.self:
		return r.leader.Index(ctx)
	}
	return r.follower.Index(ctx)
}

// Query answers a valid query. The error is a *turn.Error. A query changes nothing, so that every
// error is safe to retry as far as its kind allows.
func (r *Reader) Query(ctx context.Context, q turn.Query, c turn.Consistency) (turn.Result, error) {
	d := deadline{Context: ctx, until: time.Now().Add(r.wait)}
	defer d.end()
	res, err := r.query(&d, q, c)
	if err != nil {
		return turn.Result{}, queryError(d.Context, err)
	}
	return res, nil
}

// deadline is a context with a deadline that is set only when there is something
// to wait for that may never come: most queries are answered before.
type deadline struct {
	context.Context
	until  time.Time
	cancel context.CancelFunc
}

// limited returns the context with its deadline.
func (d *deadline) limited() context.Context {
	if d.cancel == nil {
		d.Context, d.cancel = context.WithDeadline(d.Context, d.until)
	}
	return d.Context
}

func (d *deadline) end() {
	if d.cancel != nil {
		d.cancel()
	}
}

func queryError(ctx context.Context, err error) *turn.Error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) {
		return turn.Errorf(turn.Unavailable, "the query was not answered in time: %v", cause)
	}
	return turn.AsError(err)
}

func (r *Reader) query(d *deadline, q turn.Query, c turn.Consistency) (turn.Result, error) {
	switch c.Level {
	case turn.Stale:
		if recorded, err := r.member(); err != nil {
			return turn.Result{}, err
		} else if recorded {
			if res, elsewhere, err := r.answer(d.Context, q); !elsewhere {
				return res, err
			}
		}
	case turn.Bounded:
		if r.fresh.within(c.MaxAge, time.Now()) || r.refresh(d.limited()) {
			if res, elsewhere, err := r.answer(d.Context, q); !elsewhere {
				return res, err
			}
		}
	}
	return r.linearizable(d, q)
}

// member reports whether this node may answer a stale read from its own state: if it is a member, and its state is one
// of which it was one. What is not in the state of a node that was never added, or was removed, says nothing of the
// cluster. The error says that there is no leader to answer in its place either.
func (r *Reader) member() (recorded bool, err error) {
	configured, recorded := r.cluster.Member()
	leader, _ := r.cluster.Leader()
	_, halted := r.state.Damage() // a damaged state that was put aside records no node, and is replaced
	switch {
	case !configured:
		return false, turn.Errorf(turn.Unavailable,
			"node %s is not, or no longer, a member of the cluster, and does not "+
				"answer from its own state: ask another node", r.self)
	case !recorded && leader == "" && !halted:
		return false, turn.Errorf(turn.Unavailable,
			"node %s has no state yet in which it is a member of the cluster, and "+
				"knows no leader: ask another node, or try again", r.self)
	}
	return recorded, nil
}

// answer answers from this node's state. elsewhere: what it takes is damaged here, and
// there are other nodes.
func (r *Reader) answer(ctx context.Context, q turn.Query) (res turn.Result, elsewhere bool, err error) {
	res, err = answers.Make(ctx, q, r.state.Query)
	if err == nil {
		return res, false, nil
	}
	_, halted := r.state.Damage()
	return res, (halted || errors.Is(err, fsm.ErrHalted) || turn.Is(err, turn.Corrupt)) && !r.cluster.Alone(), err
}

func (r *Reader) linearizable(d *deadline, q turn.Query) (turn.Result, error) {
	var encoded []byte // once, if it is forwarded
	var damage error   // why this node could not answer
	for {
		leader, changed := r.cluster.Leader()
		pause := lookAgain
		switch leader {
		case "":
			pause = 0 // only a change helps
		case r.self:
			// A round ends by itself.
			if index, ok := r.traced(d.Context, r.leader.Index); ok {
				res, elsewhere, err := r.answerAt(d, index, q)
				if !elsewhere || r.sound() && !errors.Is(err, fsm.ErrHalted) {
					return res, err // also if the state counts more than there is: no node is known to differ
				}
				res, known, err := r.askMembers(d.limited(), q, err)
				if known {
					return res, err
				}
				damage = err // leadership is about to be handed over, or the halt has ended meanwhile
			}
		default:
			if r.caughtUp(d.Context) {
				res, elsewhere, err := r.answer(d.Context, q)
				if !elsewhere {
					return res, err
				}
				damage = err
			}
			var err error
			if encoded == nil {
				if encoded, err = codec.EncodeQuery(q); err != nil {
					return turn.Result{}, err
				}
			}
			res, again, err := r.forward(d.limited(), q, leader, encoded)
			if !again {
				return res, err
			}
		}
		if !signal.Wait(d.limited(), changed, pause) {
			return turn.Result{}, cmp.Or[error](damage, turn.Errorf(turn.Unavailable, "no leader answered in time"))
		}
	}
}

// lookAgain is how long a query waits, unless another node comes to lead, before it is tried again.
const lookAgain = 15 * time.Millisecond

// sound reports whether the state can be relied on.
func (r *Reader) sound() bool {
	damage, halted := r.state.Damage()
	return damage == nil && !halted
}

// answerAt is answer once this node has applied the entry index.
func (r *Reader) answerAt(d *deadline, index uint64, q turn.Query) (res turn.Result, elsewhere bool, err error) {
	if applied, _ := r.state.Applied(); applied < index {
		if err := r.waitApplied(d.limited(), index); err != nil {
			return res, errors.Is(err, fsm.ErrHalted) && !r.cluster.Alone(), err
		}
	}
	return r.answer(d.Context, q)
}

// forward has the leader answer an encoded query. again: that node cannot, another may.
func (r *Reader) forward(ctx context.Context, q turn.Query, leader string, encoded []byte) (
	res turn.Result, again bool, err error) {
	res, err = answers.Make(ctx, q, func(asked turn.Query) (res turn.Result, err error) {
		if asked != q {
			return r.state.Query(asked)
		}
		res, again, err = r.ask(ctx, leader, encoded)
		return res, err
	})
	return res, again, err
}

// Answer answers another node's query, if this node leads. The error is ErrNotLeader, a *turn.Error
// that answers the query, or one of another type if this node cannot tell.
func (r *Reader) Answer(ctx context.Context, q turn.Query) (turn.Result, error) {
	index, ok := r.traced(ctx, r.leader.Index)
	if !ok {
		return turn.Result{}, ErrNotLeader
	}
	err := r.waitApplied(ctx, index)
	if err != nil && !errors.Is(err, fsm.ErrHalted) {
		return turn.Result{}, fmt.Errorf("readindex: wait for log entry %d: %w", index, err)
	}
	res, elsewhere := turn.Result{}, err != nil
	if !elsewhere {
		res, elsewhere, err = r.answer(ctx, q)
	}
	if elsewhere {
		known := false
		if res, known, err = r.askMembers(ctx, q, err); !known {
			return turn.Result{}, ErrNotLeader // soon
		}
	}
	if err != nil {
		return turn.Result{}, turn.AsError(err)
	}
	return res, nil
}

// AnswerMember answers a query of the leader's, as of a read index, from this node's own state. The
// error is a *turn.Error that answers the query, or one of another type if this node cannot tell.
func (r *Reader) AnswerMember(ctx context.Context, q turn.Query) (turn.Result, error) {
	index, ok := r.Index(ctx)
	if !ok {
		return turn.Result{}, ErrNotLeader
	}
	if err := r.waitApplied(ctx, index); err != nil {
		return turn.Result{}, fmt.Errorf("readindex: wait for log entry %d: %w", index, err)
	}
	res, err := answers.Make(ctx, q, r.state.Query)
	switch {
	case errors.Is(err, fsm.ErrHalted):
		return turn.Result{}, fmt.Errorf("readindex: %w", err)
	case err != nil:
		return turn.Result{}, turn.AsError(err)
	}
	return res, nil
}

// refresh proves this node's state fresh as of the call, without waiting for
// entries that did not arrive yet. False: it is behind, or no leader answers.
func (r *Reader) refresh(ctx context.Context) bool {
	began := time.Now()
	index, ok := r.Index(ctx)
	if !ok {
		return false
	}
	if applied, _ := r.state.Applied(); applied < index {
		return false
	}
	r.fresh.prove(began)
	return true
}

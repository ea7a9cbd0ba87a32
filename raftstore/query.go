package raftstore

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/turn"
)

// Query answers a query. The error is nil or a *turn.Error; queries change
// nothing, so every error is safe to retry as far as its kind allows.
func (n *Node) Query(ctx context.Context, q turn.Query, c turn.Consistency) (turn.Result, error) {
	if err := q.Validate(n.cfg.Limits); err != nil {
		return turn.Result{}, turn.AsError(err)
	}
	if err := n.queryLevelError(q); err != nil {
		return turn.Result{}, err
	}
	p := queryDeadline{Context: ctx, until: time.Now().Add(n.cfg.Calls.LeaderWait)}
	defer p.end()
	r, err := n.query(&p, q, c)
	if err != nil {
		return turn.Result{}, n.queryError(p.Context, err)
	}
	return r, nil
}

// queryDeadline is a context with a deadline that is set only when there is something
// to wait for that may never come: most queries are answered before.
type queryDeadline struct {
	context.Context
	until  time.Time
	cancel context.CancelFunc
}

// limited returns the context with its deadline.
func (p *queryDeadline) limited() context.Context {
	if p.cancel == nil {
		p.Context, p.cancel = context.WithDeadline(p.Context, p.until)
	}
	return p.Context
}

func (p *queryDeadline) end() {
	if p.cancel != nil {
		p.cancel()
	}
}

func (n *Node) query(p *queryDeadline, q turn.Query, c turn.Consistency) (turn.Result, error) {
	switch c.Level {
	case turn.Stale:
		if r, elsewhere, err := n.answer(q); !elsewhere {
			return r, err
		}
	case turn.Bounded:
		if n.fresh.within(c.MaxAge, time.Now()) || n.refresh(p.limited()) {
			if r, elsewhere, err := n.answer(q); !elsewhere {
				return r, err
			}
		}
	}
	return n.linearizable(p, q)
}

// answer answers from this node's state. elsewhere: what it takes is damaged here, and
// there are other nodes.
func (n *Node) answer(q turn.Query) (r turn.Result, elsewhere bool, err error) {
	r, err = n.state.Query(q)
	if err == nil {
		return r, false, nil
	}
	_, halted := n.state.Damage()
	return r, (halted || errors.Is(err, fsm.ErrHalted) || turn.Is(err, turn.Corrupt)) && !n.alone(), err
}

func (n *Node) linearizable(p *queryDeadline, q turn.Query) (turn.Result, error) {
	var encoded []byte // once, if it is forwarded
	var damage error   // why this node could not answer
	for {
		leader, changed := n.lead.leader()
		switch leader {
		case "":
		case n.id:
			// A round ends by itself.
			if index, ok := n.reads.index(p.Context); ok {
				r, elsewhere, err := n.answerAt(p, index, q)
				if !elsewhere || n.soundState() && !errors.Is(err, fsm.ErrHalted) {
					return r, err // also if the state counts more than there is: no node is known to differ
				}
				damage = err // leadership is about to be handed over, or the halt has ended meanwhile
			}
		default:
			if n.caughtUp(p.Context) {
				r, elsewhere, err := n.answer(q)
				if !elsewhere {
					return r, err
				}
				damage = err
			}
			var err error
			if encoded == nil {
				if encoded, err = codec.EncodeQuery(q); err != nil {
					return turn.Result{}, err
				}
			}
			r, again, err := n.forwardQuery(p.limited(), leader, encoded)
			if !again {
				return r, err
			}
		}
		if !pause(p.limited(), changed, 15*time.Millisecond, leader == "") {
			return turn.Result{}, cmp.Or[error](damage, unavailable("no leader answered in time"))
		}
	}
}

// answerAt is answer once this node has applied the entry index.
func (n *Node) answerAt(p *queryDeadline, index uint64, q turn.Query) (r turn.Result, elsewhere bool, err error) {
	if err := n.reached(p, index); err != nil {
		return r, errors.Is(err, fsm.ErrHalted) && !n.alone(), err
	}
	return n.answer(q)
}

// reached returns once this node has applied the entry index.
func (n *Node) reached(p *queryDeadline, index uint64) error {
	if applied, _ := n.state.Applied(); applied >= index {
		return nil
	}
	return n.state.WaitApplied(p.limited(), index)
}

// pause waits for a change or, unless only a change can help, for d; it reports
// whether ctx goes on.
func pause(ctx context.Context, changed <-chan struct{}, d time.Duration, onlyChange bool) bool {
	var after <-chan time.Time
	if !onlyChange {
		after = time.After(d)
	}
	select {
	case <-ctx.Done():
		return false
	case <-changed:
	case <-after:
	}
	return ctx.Err() == nil
}

func (n *Node) queryError(ctx context.Context, err error) *turn.Error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) {
		return unavailable("the query was not answered in time: %v", cause)
	}
	return turn.AsError(err)
}

// forwardQuery asks the leader. again: that node cannot answer, another may.
func (n *Node) forwardQuery(ctx context.Context, leader string, q []byte) (r turn.Result, again bool, err error) {
	n.stats.forwardedQueries.Add(1)
	answer, err := n.net.Call(ctx, leader, kindQuery, q)
	switch {
	case errors.Is(err, peer.ErrOverloaded):
		return r, false, turn.Errorf(turn.Overloaded, "too many queries are under way between this node and the leader")
	case err != nil && ctx.Err() != nil:
		return r, false, unavailable("the leader did not answer in time: %v", err)
	case err != nil:
		return r, true, err
	}
	content, f, err := open(answer)
	switch {
	case err != nil:
		return r, false, err
	case f != nil && answer[0] == answerNotLeader:
		return r, true, f.Err
	case f != nil:
		return r, false, f.Err
	}
	r, err = codec.DecodeResult(content)
	return r, false, err
}

// answerQuery serves another node's query, if this node leads.
func (n *Node) answerQuery(ctx context.Context, payload []byte) ([]byte, error) {
	q, err := codec.DecodeQuery(payload)
	if err != nil {
		return badly(definite(turn.AsError(err))), nil
	}
	index, ok := n.reads.index(ctx)
	if !ok {
		return []byte{answerNotLeader}, nil
	}
	if err := n.state.WaitApplied(ctx, index); err != nil {
		return nil, err
	}
	r, elsewhere, err := n.answer(q)
	if elsewhere {
		return []byte{answerNotLeader}, nil // soon
	}
	if err != nil {
		return badly(definite(turn.AsError(err))), nil
	}
	b, err := codec.EncodeResult(&r)
	if err != nil {
		return nil, err
	}
	return append([]byte{answerOK}, b...), nil
}

// freshness proves how old this node's state is at most: it comprises every
// write that was acknowledged before asOf.
type freshness struct {
	mu   sync.Mutex
	asOf time.Time
}

func (f *freshness) within(age time.Duration, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.asOf.IsZero() && now.Sub(f.asOf) <= age
}

func (f *freshness) prove(asOf time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if asOf.After(f.asOf) {
		f.asOf = asOf
	}
}

// refresh proves this node's state fresh as of the call, without waiting for
// entries that did not arrive yet. False: it is behind, or no leader answers.
func (n *Node) refresh(ctx context.Context) bool {
	began := time.Now()
	index, ok := n.readIndex(ctx)
	if !ok {
		return false
	}
	if applied, _ := n.state.Applied(); applied < index {
		return false
	}
	n.fresh.prove(began)
	return true
}

// catchUp is how long a follower waits for entries that it knows to be committed,
// before it has the leader answer. While others write, the next entry brings the
// news; else that takes much longer than asking.
const catchUp = time.Millisecond

// caughtUp reports whether this node, which does not lead, has applied every entry
// that was committed before the call.
func (n *Node) caughtUp(ctx context.Context) bool {
	index, ok := n.far.index(ctx)
	if !ok {
		return false
	}
	if applied, _ := n.state.Applied(); applied >= index {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, catchUp)
	defer cancel()
	return n.state.WaitApplied(ctx, index) == nil
}

// readIndex gets a read index from whoever leads, in one attempt.
func (n *Node) readIndex(ctx context.Context) (uint64, bool) {
	switch leader, _ := n.lead.leader(); leader {
	case "":
		return 0, false
	case n.id:
		return n.reads.index(ctx)
	}
	return n.far.index(ctx)
}

// readFar gets read indexes for the reads that wait on a follower.
func (n *Node) readFar(ctx context.Context) { n.far.run(ctx, n.farRound) }

// farRound asks the leader, which is another node, for a read index.
func (n *Node) farRound(ctx context.Context, _ int) readIndex {
	leader, _ := n.lead.leader()
	if leader == "" || leader == n.id {
		return readIndex{}
	}
	ctx, cancel := context.WithTimeout(ctx, n.reads.limit)
	defer cancel()
	answer, err := n.net.Call(ctx, leader, kindIndex, nil)
	if err != nil {
		return readIndex{}
	}
	content, f, err := open(answer)
	if err != nil || f != nil || len(content) != 8 {
		return readIndex{}
	}
	return readIndex{binary.LittleEndian.Uint64(content), true}
}

func (n *Node) answerIndex(ctx context.Context) ([]byte, error) {
	index, ok := n.reads.index(ctx)
	if !ok {
		return []byte{answerNotLeader}, nil
	}
	return binary.LittleEndian.AppendUint64([]byte{answerOK}, index), nil
}

package ballot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/raftlog"
)

// Ballot keeps this node from votes that would break what it promised before it lost
// a part of its data: to damage, or to an older copy of its directory or of its log.
//
// A vote says that the candidate has all entries that this node has acknowledged. A node
// that lost the end of its log can say so only of a candidate whose log reaches the mark.
// So it votes as if its log still ended at the mark, and does not stand for election,
// until a leader has sent it the rest. If the mark itself is of an older copy, it votes
// until then only for candidates whose log ends in a later term. In a term in which it may
// have voted and forgotten the vote, it does not vote again.
//
// When it starts, it does not know yet whether others have seen more of it. So it
// does neither before all of them have answered, or the time that Ask was given is over. Nor does
// it acknowledge entries: their sender may be a leader that was replaced by its vote.
//
// All methods may be called by any goroutine.
type Ballot struct {
	cfg Config

	mu    sync.Mutex
	began bool      // to ask; nothing is promised before
	until time.Time // when to vote although some have not answered; zero: all have
	floor uint64    // a term that another member was in when this node had started
}

// Past notes a term that another member was in when this node asked at its start. This node
// may have been in it, too, and have forgotten that if its data is an older copy: so it gives
// no vote up to that term, and follows no leader of an earlier one.
func (b *Ballot) Past(term uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.floor = max(b.floor, term)
}

// Forgotten returns a term up to which this node may have promised what it does not know of.
func (b *Ballot) Forgotten() uint64 {
	l, _ := b.cfg.Mark.Lost()
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(b.floor, l.Doubt)
}

// Config configures a Ballot.
type Config struct {
	Self  string // this node's id
	Mark  *raftlog.HighWater
	Clock func() time.Time // its monotonic reading counts
	// Configuration returns the latest one, committed or not; nil: no node is known.
	Configuration func() raft.Configuration
	// Same returns why a leader's entries cannot be taken: this node has others of the same
	// term; nil: no log is known.
	Same func([]*raft.Log) error
}

// New returns a Ballot of a node that has just started: it promises nothing until the others were
// asked.
func New(c Config) *Ballot { return &Ballot{cfg: c} }

var errAsking = errors.New("this node has just started, and is asking the members what they have seen of it")

// Ask begins the time in which the others are asked.
func (b *Ballot) Ask(limit time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.began, b.until = true, b.cfg.Clock().Add(limit)
}

// Asked ends it.
func (b *Ballot) Asked() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.until = time.Time{}
}

// Ready returns why nothing may be promised yet, nil if it may.
func (b *Ballot) Ready() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.began || b.cfg.Clock().Before(b.until) {
		return errAsking
	}
	return nil
}

// Stands returns why this node may not stand for election, nil if it may.
func (b *Ballot) Stands() error {
	if err := b.Ready(); err != nil {
		return err
	}
	if l, missing := b.cfg.Mark.Lost(); missing {
		return fmt.Errorf("this node's log has lost %v", l)
	}
	return nil
}

// hasVote returns why this node is to win no election, although it was told to stand: a learner would depose the
// leader, and no more. Nil if it has a vote, as far as it knows.
func (b *Ballot) hasVote() error {
	if b.cfg.Configuration == nil {
		return nil
	}
	for _, s := range b.cfg.Configuration().Servers {
		if string(s.ID) == b.cfg.Self && s.Suffrage != raft.Voter {
			return errors.New("this node has no vote: it is a learner")
		}
	}
	return nil
}

// follows returns why this node may not take a leader's message, and the term that it may have
// been in, if that is why; nil if it may.
func (b *Ballot) follows(m *raft.AppendEntriesRequest) (since uint64, err error) {
	if since = b.Forgotten(); m.Term < since {
		return since, fmt.Errorf("this node may have been in term %d", since)
	}
	if len(m.Entries) == 0 {
		return 0, nil
	}
	if err := b.Ready(); err != nil || b.cfg.Same == nil {
		return 0, err
	}
	return 0, b.cfg.Same(m.Entries)
}

// Elects returns why this node may not give its vote in that term, to itself either;
// nil if it may.
func (b *Ballot) Elects(term uint64) error {
	if since := b.Forgotten(); since > 0 && term <= since {
		return fmt.Errorf("this node may have voted in term %d", since)
	}
	return nil
}

// Grants returns why this node may not vote, in that term, for a candidate whose log
// ends there. Nil: Raft decides.
func (b *Ballot) Grants(term uint64, end raftlog.Position) error {
	if err := b.Ready(); err != nil {
		return err
	}
	if err := b.Elects(term); err != nil {
		return err
	}
	if l, missing := b.cfg.Mark.Lost(); missing && !l.Covers(end) {
		return fmt.Errorf("this node's log has lost %v, and the candidate may lack that, too", l)
	}
	return nil
}

// answer answers a message of another node in Raft's place, if Raft may not take it.
func (b *Ballot) answer(rpc raft.RPC, log *slog.Logger) (done bool) {
	var err error
	var refusal any
	header := raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}
	switch m := rpc.Command.(type) {
	case *raft.RequestVoteRequest:
		end := raftlog.Position{Index: m.LastLogIndex, Term: m.LastLogTerm}
		err = b.Grants(m.Term, end)
		b.acceptNewVoter(&m.RPCHeader, end)
		refusal = &raft.RequestVoteResponse{RPCHeader: header, Term: b.Forgotten()} // the candidate goes on to it
	case *raft.RequestPreVoteRequest:
		end := raftlog.Position{Index: m.LastLogIndex, Term: m.LastLogTerm}
		err = b.Grants(m.Term, end)
		b.acceptNewVoter(&m.RPCHeader, end)
		refusal = &raft.RequestPreVoteResponse{RPCHeader: header}
	case *raft.AppendEntriesRequest:
		var since uint64
		if since, err = b.follows(m); since > 0 {
			refusal = &raft.AppendEntriesResponse{RPCHeader: header, Term: since} // has the other step down
		}
	case *raft.TimeoutNowRequest:
		err = errors.Join(b.Stands(), b.hasVote())
	}
	if err == nil {
		return false
	}
	log.Info("message of another node rejected", "message", fmt.Sprintf("%T", rpc.Command), "reason", err)
	if refusal == nil {
		rpc.Respond(nil, err)
	} else {
		rpc.Respond(refusal, nil)
	}
	return true
}

// Pass hands on the messages that Raft may take, until ctx ends.
func (b *Ballot) Pass(ctx context.Context, from <-chan raft.RPC, hand func(raft.RPC), log *slog.Logger) {
	for {
		select {
		case <-ctx.Done():
			return
		case rpc := <-from:
			if !b.answer(rpc, log) {
				hand(rpc)
			}
		}
	}
}

package raftstore

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/internal/raftlog"
)

const (
	// maxAskTime bounds askTime.
	maxAskTime = 600 * time.Millisecond
	// exchangeEvery is how often the nodes tell each other how far they are.
	exchangeEvery = time.Second
	// exchangeSoon is the same for nodes that have not answered since the start.
	exchangeSoon = 20 * time.Millisecond
	// saveSightings is how often what was seen is saved, while it changes.
	saveSightings = 10 * time.Second
)

// askTime is how long a node that starts waits at most for the answers of the others. No node
// stands for election that early.
func (n *Node) askTime() time.Duration { return min(n.cfg.Consensus.Heartbeat, maxAskTime) }

// exchange tells the other members how far this node is, and hears what they have
// seen of it. After a start it votes when all have answered; one that does not answer
// is not waited for longer than others wait for a leader.
func (n *Node) exchange(ctx context.Context) {
	answered := make(answers)
	saved := time.Now()
	wait := time.NewTimer(0)
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			n.saveSightings()
			return
		case <-n.signals.peerConnected:
		case <-wait.C:
		}
		ids := n.others()
		n.tell(ctx, ids, answered)
		n.trust(answered)
		n.forgetLog()
		next := exchangeEvery
		if n.heardAll(ids, answered) {
			n.ballot.Asked()
		} else if n.ballot.Ready() != nil {
			next = exchangeSoon
		}
		if time.Since(saved) >= saveSightings {
			saved = time.Now()
			n.seen.keep(n.others())
			n.saveSightings()
		}
		wait.Reset(next)
	}
}

// heardAll reports whether all those have answered that this node knows, and all have spoken that
// they have named.
func (n *Node) heardAll(ids []string, answered answers) bool {
	return !slices.ContainsFunc(ids, func(id string) bool { return !answered.has(id) }) && !n.hearsay.awaits(n.id, ids)
}

func (n *Node) saveSightings() {
	if err := n.seen.save(); err != nil {
		n.log.Warn("cannot save what was seen of the other nodes", "error", err)
	}
}

// answers are the nodes that have answered since the start, and whether they could tell
// what they had seen: an older turnlog cannot.
type answers map[string]bool

func (a answers) has(id string) bool {
	_, has := a[id]
	return has
}

// tell tells the given nodes, and notes in answered which of them have answered. What
// they have seen counts the first time: what this node said in between is no news.
func (n *Node) tell(ctx context.Context, ids []string, answered answers) {
	ctx, cancel := context.WithTimeout(ctx, statusTime)
	defer cancel()
	p := n.mark.Position()
	l, missing := n.mark.Lost()
	q := seenQuestion{sighting{Index: p.Index, Term: p.Term, Promised: n.stable.Promised()}, n.writes.calls.Origin(),
		missing && l.Doubt > 0, nil}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, id := range ids {
		payload, err := json.Marshal(q.to(n.seen.last(id)))
		if err != nil {
			continue // plain numbers and an id: it cannot fail
		}
		wg.Go(func() {
			answer, err := n.net.Call(ctx, id, kindSeen, payload)
			mu.Lock()
			defer mu.Unlock()
			n.heard(answered, id, answer, err)
		})
	}
	wg.Wait()
}

// heard notes another node's answer.
func (n *Node) heard(answered answers, id string, answer []byte, err error) {
	var old *peer.RemoteError // an older turnlog does not know the question
	switch {
	case answered.has(id):
	case errors.As(err, &old):
		answered[id] = false
	case err == nil && n.compare(id, answer):
		answered[id] = true
	}
}

// seenQuestion is what a node tells of itself, and the number of its start: random, not 0, and
// missing from an older turnlog. An answer to one start does not tell of acknowledgements that
// an earlier one gave and that are still on their way: see sightings.acked.
type seenQuestion struct {
	sighting
	Boot  uint64 `json:"boot,omitempty"`
	Doubt bool   `json:"doubt,omitempty"` // see raftlog.Loss
	// Seen is what the asker has seen of the one that it asks; nil from an older turnlog.
	Seen *sighting `json:"seen,omitempty"`
}

// to returns the question as it goes to a node of which that was seen.
func (q seenQuestion) to(seen sighting) seenQuestion {
	q.Seen = &seen
	return q
}

// seenAnswer is what a node answers: what it has seen of the one that asks, and the
// highest term that it was in itself (0 from an older turnlog).
type seenAnswer struct {
	sighting
	Own uint64 `json:"own_term,omitempty"`
}

// seenReply is an answer, and the members that the one that answers knows: see hearsay.
type seenReply struct {
	seenAnswer
	Members []string `json:"members,omitempty"`
}

// compare holds what another node answered against what this node has. It reports whether
// the other could say anything.
func (n *Node) compare(id string, answer []byte) bool {
	content, f, err := open(answer)
	var seen seenReply
	if f != nil || err != nil || json.Unmarshal(content, &seen) != nil {
		return false
	}
	n.past(seen.Own)
	n.judge(id, seen.seenAnswer)
	n.learnMembers(seen.Members)
	return true
}

// past notes a term that another node was in: this one may have been in it before it started,
// and if it runs with an older copy, have acknowledged entries in it.
func (n *Node) past(term uint64) {
	n.ballot.Past(term)
	if err := n.mark.ProlongDoubt(term); err != nil {
		n.fail(err)
	}
}

// judge holds what another node has seen of this one against what this node had. What the log
// was cut by rightly counts as had: what took its place is acknowledged as of a later term.
//
// If the other has seen more, an older copy of this node's data was put back. Then this node may
// have been in any term that others are in, unseen, and have acknowledged entries of it.
func (n *Node) judge(id string, seen seenAnswer) {
	had, promised := n.mark.Furthest(), n.stable.Promised()
	if had.Before(seen.position()) || promised < seen.Promised {
		n.log.Error("another node has seen more of this one than it has: an older copy of its data was put back. It "+
			"does not vote, "+
			"nor stand for election, until a leader that others elected has sent it what is missing; "+n.howToElect(),
			"seen_by", id, "seen", seen.position(), "seen_in_term", seen.Promised, "have", had, "have_term", promised)
		n.noteLoss(seen.sighting, max(promised, seen.Promised, seen.Own, n.ballot.Forgotten()))
	}
}

// noteLoss notes, durably, that an older copy was put back. It may end in between. So the doubt
// comes first: with the term alone the next start would know of no loss. And the mark comes last:
// the next start would refuse one of a term that this node does not know.
func (n *Node) noteLoss(seen sighting, doubt uint64) {
	err := n.mark.NoteLoss(raftlog.Loss{Doubt: doubt, Restored: true})
	if term := max(seen.Term, seen.Promised); err == nil && n.stable.Promised() < term {
		n.stable.SetTerm(term)
	}
	if err == nil {
		err = n.mark.NoteLoss(raftlog.Loss{Had: seen.position(), Doubt: doubt, Restored: true})
	}
	if err != nil {
		n.fail(err)
	}
}

// trust ends a doubt when the leader that this node follows has told what it has seen,
// and the log has entries of its term, as far as that: a leader knows what was
// acknowledged to it, and its log has what was to those before it. One of an older turnlog
// does not know that: then an entry of a later term ends the doubt.
func (n *Node) trust(answered answers) {
	l, missing := n.mark.Lost()
	if leader, _ := n.lead.leader(); !missing || l.Doubt == 0 || !answered[leader] {
		return
	}
	_, term, _ := n.raftState()
	if end, err := n.logs.End(); err == nil && l.EndedBy(term, end) {
		n.stable.Spend(l.Doubt)
		n.mark.EndDoubt(l.Doubt, end)
	}
}

// answerSeen answers another node's exchange.
func (n *Node) answerSeen(from peer.Facts, payload []byte) ([]byte, error) {
	if n.raft.Load() == nil {
		return badly(definite(unavailable("the node is starting"))), nil
	}
	var now seenQuestion
	if err := json.Unmarshal(payload, &now); err != nil {
		return nil, err
	}
	now.Incarnation = from.Incarnation
	before := sighting{}
	_, replaced := n.replaced(from) // it may have been since the connection was made
	if !replaced && slices.ContainsFunc(n.configuration().Servers,
		func(s raft.Server) bool { return string(s.ID) == from.NodeID }) {
		before = n.seen.met(from.NodeID, now.sighting, now.Boot)
		n.seen.doubting(from.NodeID, now.Doubt)
	}
	if now.Seen != nil {
		n.toldUnasked(from.NodeID, seenAnswer{*now.Seen, now.Promised})
	}
	b, err := json.Marshal(seenReply{seenAnswer{before, n.stable.Promised()}, n.knownMembers()})
	return append([]byte{answerOK}, b...), err
}

package raftstore

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/peer"
)

// reads gives out read indexes on the leader: log indexes such that a state
// which comprises the entry at the index comprises every write that was
// acknowledged before the index was asked for.
//
// A round serves everybody who asked before it began:
//
//  1. An entry of the leader's own term was applied (leadership.term); so the
//     commit index is not behind what earlier leaders acknowledged.
//  2. The commit index is taken.
//  3. After that, voters are asked, with a fresh nonce, for the highest
//     term that it ever promised anything in. Who names a higher one than ours
//     denies.
//  4. With a majority of the voters, the leader included, not denying, and the
//     term still ours, the index holds: a later leader needs the vote of one of
//     these, in a higher term, and so cannot have been elected, let alone have
//     acknowledged anything, before step 3 and therefore not before the question.
//
// Answers count for their own round alone, and voters alone are asked. The
// library's VerifyLeader counts any answer that arrives, even to a heartbeat from
// before the question, and those of non-voters. No clock is involved.
type reads struct {
	lead  *leadership
	net   *peer.Network
	voter func() (others []string, self bool) // of the latest configuration
	state func() (leader bool, term, commit uint64)
	limit time.Duration // of one attempt of a round
	quick []string      // who confirmed the last round; only in run
	rounds
}

// run serves rounds until ctx ends.
func (r *reads) run(ctx context.Context) { r.rounds.run(ctx, r.round) }

func (r *reads) round(ctx context.Context, asked int) readIndex {
	term, changed := r.lead.term()
	if term == 0 {
		return readIndex{}
	}
	leader, now, commit := r.state()
	if !leader || now != term {
		return readIndex{}
	}
	if !r.confirm(ctx, term, changed, asked >= sparing) {
		return readIndex{}
	}
	leader, now, _ = r.state()
	return readIndex{commit, leader && now == term}
}

// sparing is the number of reads in a round from which on voters are spared.
const sparing = 3

// confirm asks the voters. All of them, so that the quickest count; or, sparing
// them, at first only as many as it takes, those that were quick the last time,
// since each question wakes a process. Then the others are asked when these have
// not confirmed soon.
func (r *reads) confirm(ctx context.Context, term uint64, changed <-chan struct{}, spare bool) bool {
	others, self := r.voter()
	need := majority(len(others), self)
	if need == 0 {
		return true
	}
	others = r.quickFirst(others)
	first := len(others)
	if spare {
		first = need
	}
	poll := newPoll(r.net, term, len(others))
	poll.ask(others[:first])
	timer := time.NewTimer(min(restAfter, r.limit))
	defer timer.Stop()
	asked := false // all of them
	var quick []string
	for answered := 0; len(quick) < need && answered < len(others); {
		select {
		case v := <-poll.votes:
			answered++
			if v.yes {
				quick = append(quick, v.id)
			}
		case <-timer.C:
			if asked {
				return false
			}
			asked = true
			poll.ask(others[first:])
			timer.Reset(r.limit)
		case <-changed:
			return false
		case <-ctx.Done():
			return false
		}
	}
	r.quick = quick
	return len(quick) >= need
}

// restAfter is how long the first that were asked are waited for alone.
const restAfter = 5 * time.Millisecond

// poll is the question of one round, with a nonce of its own.
type poll struct {
	net      *peer.Network
	question []byte
	votes    chan verdict
}

// verdict is a voter's answer; no answer is none.
type verdict struct {
	id  string
	yes bool
}

func newPoll(net *peer.Network, term uint64, voters int) poll {
	question := make([]byte, confirmBytes)
	_, _ = rand.Read(question[:8])
	binary.LittleEndian.PutUint64(question[8:], term)
	return poll{net, question, make(chan verdict, voters)}
}

// ask asks each once.
func (p poll) ask(voters []string) {
	for _, id := range voters {
		p.net.Send(id, kindConfirm, p.question, func(answer []byte, err error) {
			p.votes <- verdict{id, err == nil && confirmed(p.question, answer)}
		})
	}
}

// quickFirst returns the voters, those that confirmed the last round first.
func (r *reads) quickFirst(voters []string) []string {
	first := make([]string, 0, len(voters))
	for _, quick := range [...]bool{true, false} {
		for _, id := range voters {
			if slices.Contains(r.quick, id) == quick {
				first = append(first, id)
			}
		}
	}
	return first
}

// majority returns how many of the other voters make one, together with this node
// if it is a voter.
func majority(others int, self bool) int {
	if self {
		return (others + 1) / 2
	}
	return others/2 + 1
}

// A confirmation is asked for with 8 bytes of nonce and 8 of term, and answered
// with the same nonce and the term that the voter promised.
const confirmBytes = 16

func confirmed(question, answer []byte) bool {
	return len(answer) == confirmBytes && string(answer[:8]) == string(question[:8]) &&
		binary.LittleEndian.Uint64(answer[8:]) <= binary.LittleEndian.Uint64(question[8:])
}

// answerConfirm is a voter's side. The term must be read after the question came.
func answerConfirm(question []byte, promised func() uint64) ([]byte, error) {
	if len(question) != confirmBytes {
		return nil, errShort
	}
	return binary.LittleEndian.AppendUint64(question[:8:8], promised()), nil
}

// votersOf splits the voters of a configuration into the others and self.
func votersOf(c raft.Configuration, self string) (others []string, isVoter bool) {
	for _, s := range c.Servers {
		switch {
		case s.Suffrage != raft.Voter:
		case string(s.ID) == self:
			isVoter = true
		default:
			others = append(others, string(s.ID))
		}
	}
	return others, isVoter
}

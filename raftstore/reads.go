package raftstore

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/peer"
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
//  3. After that, every voter is asked, with a fresh nonce, for the highest
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
	rounds
}

// run serves rounds until ctx ends.
func (r *reads) run(ctx context.Context) { r.rounds.run(ctx, r.round) }

func (r *reads) round(ctx context.Context) readIndex {
	term, changed := r.lead.term()
	if term == 0 {
		return readIndex{}
	}
	leader, now, commit := r.state()
	if !leader || now != term {
		return readIndex{}
	}
	if !r.confirm(ctx, term, changed) {
		return readIndex{}
	}
	leader, now, _ = r.state()
	return readIndex{commit, leader && now == term}
}

// confirm asks the voters.
func (r *reads) confirm(ctx context.Context, term uint64, changed <-chan struct{}) bool {
	others, self := r.voter()
	voters, votes := len(others), 0
	if self {
		voters++
		votes++
	}
	need := voters/2 + 1
	if votes >= need {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	question := make([]byte, confirmBytes)
	_, _ = rand.Read(question[:8])
	binary.LittleEndian.PutUint64(question[8:], term)
	answers := make(chan bool, len(others))
	for _, id := range others {
		r.net.Send(id, kindConfirm, question, func(answer []byte, err error) {
			answers <- err == nil && confirmed(question, answer)
		})
	}
	for left := len(others); left > 0 && votes < need; left-- {
		select {
		case yes := <-answers:
			if yes {
				votes++
			}
		case <-changed:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return votes >= need
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

// votersIn counts the voters of a configuration.
func votersIn(c raft.Configuration) int {
	others, _ := votersOf(c, "")
	return len(others)
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

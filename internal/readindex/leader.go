package readindex

import (
	"context"
	"slices"
	"time"
)

// leaderIndexes gives out read indexes on the leader.
//
// A round serves all reads that asked before it began:
//
//  1. An entry of the leader's own term was applied (Cluster.Serving); so the
//     commit index is not behind what earlier leaders acknowledged.
//  2. The commit index is taken.
//  3. After that, voters are asked, with a fresh nonce, for the highest
//     term that they ever promised anything in. One that names a higher one than ours
//     denies.
//  4. With a majority of the voters, the leader included, not denying, and the
//     term still ours, the index holds: a later leader needs the vote of one of
//     these, in a higher term, and so cannot have been elected, let alone have
//     acknowledged anything, before step 3 and therefore not before the question.
//
// Answers count for their own round alone, and voters alone are asked. hashicorp/raft's
// VerifyLeader counts any answer that arrives, even to a heartbeat from
// before the question, and those of non-voters. No clock is involved.
type leaderIndexes struct {
	cluster Cluster
	peers   Peers
	limit   time.Duration // of one attempt of a round
	fastest []string      // the voters that confirmed the last round first; only in Run
	rounds
}

// newLeaderIndexes returns those of a node, which do nothing until Run runs. limit bounds each
// attempt to have a majority confirm.
func newLeaderIndexes(cluster Cluster, peers Peers, limit time.Duration) *leaderIndexes {
	return &leaderIndexes{cluster: cluster, peers: peers, limit: limit, rounds: newRounds()}
}

// Run serves rounds until ctx ends.
func (l *leaderIndexes) Run(ctx context.Context) { l.run(ctx, l.round) }

func (l *leaderIndexes) round(ctx context.Context, asked int) answer {
	term, changed := l.cluster.Serving()
	if term == 0 {
		return answer{}
	}
	leads, now, commit := l.cluster.Raft()
	if !leads || now != term {
		return answer{}
	}
	if !l.confirm(ctx, term, changed, asked >= spareFrom) {
		return answer{}
	}
	leads, now, _ = l.cluster.Raft()
	return answer{commit, leads && now == term}
}

// spareFrom is the number of reads in a round from which on voters are spared.
const spareFrom = 3

// confirm asks the voters. All of them, so that the fastest count; or, sparing
// them, at first only as many as it takes, those that were fastest the last time,
// since each question wakes a process. Then the others are asked when these have
// not confirmed soon.
func (l *leaderIndexes) confirm(ctx context.Context, term uint64, changed <-chan struct{}, spare bool) bool {
	others, self := l.cluster.Voters()
	need := Majority(len(others), self)
	if need == 0 {
		return true
	}
	others = l.fastestFirst(others)
	first := len(others)
	if spare {
		first = need
	}
	poll := newPoll(l.peers, term, len(others))
	poll.ask(others[:first])
	timer := time.NewTimer(min(askRestAfter, l.limit))
	defer timer.Stop()
	asked := false // all of them
	var fastest []string
	for answered := 0; len(fastest) < need && answered < len(others); {
		select {
		case v := <-poll.votes:
			answered++
			if v.yes {
				fastest = append(fastest, v.id)
			}
		case <-timer.C:
			if asked {
				return false
			}
			asked = true
			poll.ask(others[first:])
			timer.Reset(l.limit)
		case <-changed:
			return false
		case <-ctx.Done():
			return false
		}
	}
	l.fastest = fastest
	return len(fastest) >= need
}

// askRestAfter is how long the first that were asked are waited for alone.
const askRestAfter = 5 * time.Millisecond

// fastestFirst returns the voters, those that confirmed the last round first.
func (l *leaderIndexes) fastestFirst(voters []string) []string {
	first := make([]string, 0, len(voters))
	for _, fast := range [...]bool{true, false} {
		for _, id := range voters {
			if slices.Contains(l.fastest, id) == fast {
				first = append(first, id)
			}
		}
	}
	return first
}

// Majority returns how many of the other voters make one, together with this node
// if it is a voter.
func Majority(others int, self bool) int {
	if self {
		return (others + 1) / 2
	}
	return others/2 + 1
}

package readindex

import (
	"context"
	"time"
)

// followerIndexes gets read indexes from a leader that is another node.
type followerIndexes struct {
	self    string
	cluster Cluster
	peers   Peers
	limit   time.Duration
	rounds
}

// newFollowerIndexes returns those of the node self, which do nothing until Run runs. limit bounds
// each request to the leader.
func newFollowerIndexes(self string, cluster Cluster, peers Peers, limit time.Duration) *followerIndexes {
	return &followerIndexes{self: self, cluster: cluster, peers: peers, limit: limit, rounds: newRounds()}
}

// Run asks the leader for the reads that wait, until ctx ends.
func (f *followerIndexes) Run(ctx context.Context) { f.run(ctx, f.round) }

func (f *followerIndexes) round(ctx context.Context, _ int) answer {
	leader, _ := f.cluster.Leader()
	if leader == "" || leader == f.self {
		return answer{}
	}
	ctx, cancel := context.WithTimeout(ctx, f.limit)
	defer cancel()
	index, err := f.peers.ReadIndex(ctx, leader)
	return answer{index, err == nil}
}

// catchUpTime is how long a follower waits for entries that it knows to be committed,
// before it has the leader answer. While others write, the next entry brings the
// news; else that takes much longer than asking.
const catchUpTime = time.Millisecond

// caughtUp reports whether this node, which does not lead, has applied every entry
// that was committed before the call.
func (r *Reader) caughtUp(ctx context.Context) bool {
	index, ok := r.traced(ctx, r.follower.Index)
	if !ok {
		return false
	}
	if applied, _ := r.state.Applied(); applied >= index {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, catchUpTime)
	defer cancel()
	return r.waitApplied(ctx, index) == nil
}

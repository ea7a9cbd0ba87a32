package raftstore

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/turnlog/turnlog/internal/codec"
)

// ErrRemoved ends Run on a node that is no longer a member of its cluster.
var ErrRemoved = errors.New("this node was removed from the cluster; to add it again, start it with an empty data " +
	"directory and --join, then run `turnlog cluster join`")

// watchMembers keeps on disk what admission depends on, as it becomes known: the
// cluster's id, the members' incarnations, and the level, so that an older version
// which is started on this directory refuses it at once. It ends the node when it has been
// removed.
func (n *Node) watchMembers(ctx context.Context) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	kept, level := []codec.Member(nil), n.data.State.Level()
	for {
		if id := n.data.State.ClusterID(); id != "" {
			if err := n.data.Identity.LearnCluster(id); err != nil {
				n.failure.Fail(err)
				return
			}
		}
		members, reached := n.data.State.Members(), n.data.State.Level()
		if !slices.Equal(members, kept) || reached != level {
			if err := n.data.State.Flush(ctx); err == nil {
				kept, level = members, reached
			}
		}
		if leader, _ := n.lead.Leader(); leader == "" && n.removed(ctx) {
			n.failure.Fail(ErrRemoved)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// removed reports whether this node is no longer a member. It need not have
// heard of that: Raft stops talking to a server that is removed. Another node
// knows, if its state includes more than the own one, in which this node is
// recorded, and does not have that record.
func (n *Node) removed(ctx context.Context) bool {
	for _, id := range n.raft.Others() {
		st, err := n.statusOf(ctx, id)
		if err == nil && n.policy.RemovedBy(st.Applied) && !slices.Contains(st.Members, n.id) {
			return true
		}
	}
	return false
}

package raftstore

import (
	"context"
	"errors"
	"slices"
	"time"
)

// ErrRemoved ends Run on a node that is no longer a member of its cluster.
var ErrRemoved = errors.New("raftstore: this node was removed from the cluster")

// watchMembers keeps on disk what admission depends on, as it becomes known: the
// cluster's id, the members' incarnations, and the level, so that an older version
// which is started on this directory refuses it at once. It ends the node when it has been
// removed.
func (n *Node) watchMembers(ctx context.Context) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	kept, level := -1, n.state.Level()
	for {
		if id := n.state.ClusterID(); id != "" {
			if err := n.ident.LearnCluster(id); err != nil {
				n.fail(err)
				return
			}
		}
		members, reached := len(n.state.Members()), n.state.Level()
		if members != kept || reached != level {
			if err := n.state.Flush(ctx); err == nil {
				kept, level = members, reached
			}
		}
		if leader, _ := n.lead.leader(); leader == "" && n.removed(ctx) {
			n.fail(ErrRemoved)
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
	for _, id := range n.raft.others() {
		st, err := n.statusOf(ctx, id)
		if err == nil && n.policy.RemovedBy(st.Applied) && !slices.Contains(st.Members, n.id) {
			return true
		}
	}
	return false
}

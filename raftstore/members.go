package raftstore

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/membership"
	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/internal/readindex"
	"github.com/turnlog/turnlog/internal/signal"
	"github.com/turnlog/turnlog/turn"
)

// ErrRemoved ends Run on a node that is no longer a member of its cluster.
var ErrRemoved = errors.New("raftstore: this node was removed from the cluster")

// recordMembers has the state machine know every server's incarnation and
// addresses, and forget servers that were removed. An incarnation that is
// recorded stays; Admit keeps out who comes with another.
// It reports whether nothing is left to do.
func (n *Node) recordMembers(ctx context.Context, t *propose.Term) (complete bool) {
	complete = true
	recorded := make(map[string]codec.Member)
	for _, m := range n.state.Members() {
		recorded[m.ID] = m
	}
	for _, id := range n.raft.configuration().IDs() {
		old, known := recorded[id]
		delete(recorded, id)
		st, err := n.statusOf(ctx, id)
		if err != nil || known && st.Incarnation != old.Incarnation {
			complete = complete && known
			continue
		}
		m := codec.Member{ID: id, Incarnation: st.Incarnation, RESPAddr: st.RESPAddr, HTTPAddr: st.HTTPAddr}
		if m == old {
			continue
		}
		if _, err := n.propose(ctx, t, &m); err != nil {
			n.log.Info("member not recorded yet", "member", id, "error", err)
			complete = false
		}
	}
	for id := range recorded {
		if _, err := n.forgetMember(ctx, t, id); err != nil {
			n.log.Info("record of a removed member not deleted yet", "member", id, "error", err)
			complete = false
		}
	}
	return complete
}

// forgetMember has the state machine forget a server that was removed, unless it is in the
// configuration again: it may have been added, and recorded, since the caller looked. It is
// not added meanwhile. The index is that of the entry, 0 if there is none.
func (n *Node) forgetMember(ctx context.Context, t *propose.Term, id string) (index uint64, err error) {
	if !n.changing.enter(ctx) {
		return 0, ctx.Err()
	}
	defer n.changing.leave()
	if _, again := n.raft.configuration().Find(id); again {
		return 0, nil
	}
	done, err := n.propose(ctx, t, &codec.Member{ID: id, Remove: true})
	return done.Index, err
}

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

func (n *Node) removeHere(ctx context.Context, t *propose.Term, id string) error {
	if err := n.checkRemaining(ctx, id); err != nil {
		return err
	}
	if others, _ := n.raft.voters(); id == n.id && len(others) > 0 {
		if err := n.TransferLeadership(ctx); err != nil {
			return err
		}
		return turn.Errorf(turn.Unknown, "the new leader must remove node %s: repeat the request", id)
	}
	err := n.reconfigure(ctx, t, func(now membership.Configuration) (raft.Future, error) {
		if _, found := now.Find(id); !found {
			return nil, turn.Errorf(turn.NotFound, "node %s is not a member", id)
		}
		if id == n.id {
			return nil, turn.Errorf(turn.Invalid, "node %s is the last voter", id)
		}
		return n.raft.Load().RemoveServer(raft.ServerID(id), 0, time.Second), nil
	})
	if err != nil {
		return err
	}
	index, err := n.forgetMember(ctx, t, id)
	if err != nil {
		return turn.Errorf(turn.Unknown, "node %s was removed, but its record may not be deleted yet: %v", id, err)
	}
	n.spread(ctx, index)
	return nil
}

// checkRemaining refuses to remove a voter if those that remain and can be reached are no
// majority: they could not commit even the removal, and the leader would step down over it.
func (n *Node) checkRemaining(ctx context.Context, id string) error {
	remaining, voter := n.raft.voters()
	removed := slices.Index(remaining, id)
	switch {
	case id == n.id && voter:
		voter = false
	case removed >= 0:
		remaining = slices.Delete(remaining, removed, removed+1)
	default:
		return nil
	}
	if len(remaining) == 0 {
		return nil // it is the last one, or this one goes on alone
	}
	need := readindex.Majority(len(remaining), voter)
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Calls.LeaderWait)
	defer cancel()
	for {
		reached := n.reachable(ctx, remaining)
		if reached >= need {
			return nil
		}
		if !signal.Wait(ctx, nil, 50*time.Millisecond) {
			return unavailable("node %s was not removed: of the %d other voters that would remain, %d can be "+
				"reached, and %d have to be; "+
				"bring back those that are down, or remove them first", id, len(remaining), reached, need)
		}
	}
}

// reachable returns how many of the nodes answer.
func (n *Node) reachable(ctx context.Context, ids []string) int {
	var reached atomic.Int32
	var wg sync.WaitGroup
	for _, id := range ids {
		wg.Go(func() {
			if _, err := n.statusOf(ctx, id); err == nil {
				reached.Add(1)
			}
		})
	}
	wg.Wait()
	return int(reached.Load())
}

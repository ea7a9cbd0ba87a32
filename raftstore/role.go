package raftstore

import (
	"context"
	"time"
)

// watchRole follows who leads, and begins and ends this node's leader terms.
func (n *Node) watchRole(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var lt *leaderTerm
	for {
		leading, term, _ := n.raft.State()
		if lt != nil && (!leading || lt.Number != term || lt.Ended()) && n.endTerm(lt) {
			lt = nil
		}
		if leading && lt == nil && !n.halted() {
			lt = n.beginTerm(ctx, term)
		}
		n.lead.SetLeader(n.leaderID(leading))
		n.syncPeers()
		n.waiter.look()
		select {
		case <-ctx.Done():
			if lt != nil {
				n.awaitEnd(lt)
			}
			return
		case <-n.signals.roleChanged:
		case <-tick.C:
		}
	}
}

// halted reports whether the state machine applies nothing.
func (n *Node) halted() bool {
	_, halted := n.data.State.Damage()
	return halted
}

func (n *Node) leaderID(leading bool) string {
	if leading {
		return n.id
	}
	id := n.raft.Leader()
	if id == n.id {
		return "" // it has just stepped down, or not quite up
	}
	return id
}

// syncPeers keeps connections to all other servers of the configuration, and ends those
// of nodes that are not members any more.
func (n *Node) syncPeers() {
	addrs, members := make(map[string]string), make(map[string]bool)
	for _, s := range n.raft.Configuration() {
		members[s.ID] = true
		if s.ID != n.id {
			addrs[s.ID] = s.Addr
		}
	}
	n.net.SetPeers(addrs)
	n.offsets.Keep(members)
	n.policy.Follow(members, time.Now())
	n.net.Cut(n.policy.Outsider)
}

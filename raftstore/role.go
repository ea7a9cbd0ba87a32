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
		leading, term, _ := n.raftState()
		if lt != nil && (!leading || lt.Number != term || lt.Ended()) {
			n.endTerm(lt)
			lt = nil
		}
		if _, halted := n.state.Damage(); leading && lt == nil && !halted {
			lt = n.beginTerm(ctx, term)
		}
		n.lead.setLeader(n.leaderID(leading))
		n.syncPeers()
		n.waiter.look()
		select {
		case <-ctx.Done():
			if lt != nil {
				n.endTerm(lt)
			}
			return
		case <-n.signals.roleChanged:
		case <-tick.C:
		}
	}
}

func (n *Node) leaderID(leading bool) string {
	if leading {
		return n.id
	}
	_, id := n.raft.Load().LeaderWithID()
	if string(id) == n.id {
		return "" // it has just stepped down, or not quite up
	}
	return string(id)
}

// syncPeers keeps connections to all other servers of the configuration, and ends those
// of nodes that are not members any more.
func (n *Node) syncPeers() {
	addrs, members := make(map[string]string), make(map[string]bool)
	for _, s := range n.configuration().Servers {
		members[string(s.ID)] = true
		if string(s.ID) != n.id {
			addrs[string(s.ID)] = string(s.Address)
		}
	}
	n.net.SetPeers(addrs)
	n.offsets.Keep(members)
	n.departed.follow(members, time.Now(), n.grace())
	n.net.Cut(n.outsider)
}

package raftstore

import (
	"context"
	"sync"
	"time"

	"github.com/turnlog/turnlog/internal/clustertime"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// watchStanding follows who leads, and begins and ends this node's own reigns.
func (n *Node) watchStanding(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var now *reign
	var dismiss func()
	for {
		leading, term, _ := n.raftState()
		if now != nil && (!leading || now.term != term || over(now)) {
			dismiss()
			now = nil
		}
		if _, halted := n.state.Damage(); leading && now == nil && !halted {
			now, dismiss = n.ascend(ctx, term)
		}
		n.lead.setLeader(n.leaderID(leading))
		n.syncPeers()
		n.reach.look()
		select {
		case <-ctx.Done():
			if now != nil {
				dismiss()
			}
			return
		case <-n.standing:
		case <-tick.C:
		}
	}
}

func over(r *reign) bool {
	select {
	case <-r.over:
		return true
	default:
		return false
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

// ascend begins a reign. Its first entry is an Epoch; once that is applied this
// node serves reads.
func (n *Node) ascend(ctx context.Context, term uint64) (*reign, func()) {
	others, _ := n.voters()
	r := &reign{
		raft: n.raft.Load(), term: term, last: n.state.Clock, over: make(chan struct{}),
		clock: clustertime.NewSource(n.cfg.Clock, n.state.Clock(), n.askClocks(ctx, others)),
	}
	n.log.Info("leading", "term", term)
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	first, wait, err := n.ownUnit(&codec.Epoch{ClusterID: randomID()})
	if err != nil {
		n.fail(err)
	} else {
		n.props.begin(r, first)
		wg.Go(func() { n.rule(ctx, r, wait) })
	}
	return r, func() {
		cancel()
		wg.Wait()
		n.props.end(r)
		n.lead.setServing(0)
		n.log.Info("leading no more", "term", term)
	}
}

// rule does a leader's duties until ctx ends.
func (n *Node) rule(ctx context.Context, r *reign, epoch func(context.Context) (turn.Result, error)) {
	if _, err := epoch(ctx); err != nil {
		n.props.end(r)
		poke(n.standing)
		return
	}
	n.logs.Lead(r.term, n.configuration())
	n.lead.setServing(r.term)
	var members time.Time // when to look after them next
	for {
		if now := time.Now(); now.After(members) {
			members = now.Add(2 * time.Second)
			if !n.recordMembers(ctx, r) {
				members = now
			}
			n.raiseLevel(ctx, r)
		}
		n.tickIfDue(ctx, r)
		select {
		case <-ctx.Done():
			return
		case <-time.After(n.untilDue(r)):
		}
	}
}

// tickEvery is how often, at least, a leader looks whether a deadline has passed.
const tickEvery = 100 * time.Millisecond

// untilDue is how long a leader waits for the next deadline that it knows of: one
// that is set later is noticed in time, too, if it is tickEvery away.
func (n *Node) untilDue(r *reign) time.Duration {
	// In milliseconds as long as it may be too many for a Duration.
	left := n.state.NextDue() - r.clock.Now(n.state.Clock())
	if left <= 0 {
		return tickEvery // there is none, or it could not be dealt with
	}
	return time.Duration(min(left, tickEvery.Milliseconds())) * time.Millisecond
}

// tickIfDue carries the cluster time into the log if something waits for it.
func (n *Node) tickIfDue(ctx context.Context, r *reign) {
	for ctx.Err() == nil {
		due := n.state.NextDue()
		if due == 0 || r.clock.Now(n.state.Clock()) < due {
			return
		}
		if _, err := n.propose(ctx, r, &codec.Tick{}); err != nil {
			return
		}
		n.stats.ticks.Add(1)
	}
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

package raftstore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/membership"
	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/internal/signal"
)

// TransferLeadership makes this node, if it leads, hand over to the voter that
// is furthest along. Nothing is proposed meanwhile.
func (n *Node) TransferLeadership(ctx context.Context) error {
	r := n.raft.Load()
	if r == nil || r.State() != raft.Leader {
		return propose.NotLeader().Err
	}
	release, err := n.writes.proposer.Hold(ctx)
	if err != nil {
		return unavailable("operations in flight do not end: %v", err)
	}
	defer release()
	target, ok := transfer{n}.target(ctx)
	if !ok {
		return unavailable("no other voter can be reached")
	}
	return transfer{n}.to(ctx, r, target)
}

// transfer is how a leader gives way to another voter.
type transfer struct{ node *Node }

// to hands over to a voter, while nothing is proposed. The library's own
// transfer is not used: it waits without an end for the next turn of a replicator that
// is stuck, as while it backs off from a node that was away, and the leader refuses
// entries for as long.
func (t transfer) to(ctx context.Context, r *raft.Raft, target membership.Server) error {
	ctx, cancel := context.WithTimeout(ctx, 4*t.node.cfg.Consensus.Election)
	defer cancel()
	term := r.CurrentTerm()
	leads := func() bool { return r.State() == raft.Leader && r.CurrentTerm() == term }
	if err := t.untilEqual(ctx, r, target.ID); err != nil {
		return err
	}
	if !leads() { // an election would depose the leader that there is now
		return propose.NotLeader().Err
	}
	if err := t.callElection(target.ID, target.Addr); err != nil {
		return unavailable("leadership was not transferred: %v", err)
	}
	for leads() {
		if !signal.Wait(ctx, nil, 2*time.Millisecond) {
			return unavailable("leadership was not transferred: node %s did not become leader", target.ID)
		}
	}
	t.node.stats.transfers.Add(1)
	t.node.signals.roleChanged.Notify()
	for {
		serving, changed := t.node.lead.serves()
		if serving != term || !signal.Wait(ctx, changed, 0) {
			return nil
		}
	}
}

// untilEqual waits until a voter has all that this node's log has.
func (t transfer) untilEqual(ctx context.Context, r *raft.Raft, id string) error {
	for {
		st, err := t.node.statusOf(ctx, id)
		if err == nil && st.Last >= r.LastIndex() {
			return nil
		}
		if !signal.Wait(ctx, nil, 5*time.Millisecond) {
			return unavailable("leadership was not transferred: node %s did not catch up in time", id)
		}
	}
}

// target returns the voter that answers and has the longest log, of the least damaged ones
// with space on their disks if there are any. None is halted for damage. Raft's own choice is the one
// that it sent most to, which may be down.
//
// It asks only the others: this node's state is locked for as long as its disk takes to read what an
// entry needs, and a leader whose disk hangs is to give way.
func (t transfer) target(ctx context.Context) (target membership.Server, ok bool) {
	return t.targetWithin(ctx, someUnread)
}

// targetWithin returns the best transfer target with no more harm than that.
func (t transfer) targetWithin(ctx context.Context, most harm) (target membership.Server, ok bool) {
	var best nodeStatus
	for _, s := range t.node.raft.configuration() {
		if !s.Voter || s.ID == t.node.id {
			continue
		}
		st, err := t.node.statusOf(ctx, s.ID)
		if err == nil && st.harm() <= most && st.Role != roleRecovering && (!ok || st.leadsBetter(best)) {
			target, ok, best = s, true, st
		}
	}
	return target, ok
}

// leadsBetter reports whether a voter is a better transfer target than another one.
func (s nodeStatus) leadsBetter(than nodeStatus) bool {
	switch {
	case s.harm() != than.harm():
		return s.harm() < than.harm()
	case s.NoSpace != than.NoSpace:
		return than.NoSpace
	}
	return s.Last > than.Last
}

// harm is what damage to a node's state keeps it from.
type harm uint8

const (
	unharmed    harm = iota
	someUnread       // reading what is in damaged blocks
	allUnserved      // everything
)

func (s nodeStatus) harm() harm {
	switch {
	case s.Halted:
		return allUnserved
	case s.Damaged:
		return someUnread
	}
	return unharmed
}

// force has the transfer target stand for election although something is in flight here
// that may never end. What was sent to the others is in that node's log, and calls
// without an outcome are sent again, to the new leader.
func (t transfer) force(ctx context.Context) error {
	target, ok := t.target(ctx)
	if !ok {
		return unavailable("no other voter can be reached")
	}
	if !t.node.raft.leads() {
		return propose.NotLeader().Err
	}
	return t.callElection(target.ID, target.Addr)
}

// callElection has a node stand for election at once.
func (t transfer) callElection(id, addr string) error {
	req := &raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}}
	return t.node.trans.TimeoutNow(raft.ServerID(id), raft.ServerAddress(addr), req, &raft.TimeoutNowResponse{})
}

// watchDisk watches how long the disk takes to sync the log.
func (n *Node) watchDisk(ctx context.Context) {
	s := &n.cfg.Storage
	tick := time.NewTicker(min(s.CheckEvery, s.SlowSync/4))
	defer tick.Stop()
	var handing atomic.Bool
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		took := n.logs.Appending()
		switch leading, _, _ := n.raft.state(); {
		case took > s.StuckSync:
			n.fail(fmt.Errorf("raftstore: a write to the log has not ended for %v: the disk seems to hang",
				took.Round(time.Second)))
		case took > s.SlowSync && leading && handing.CompareAndSwap(false, true):
			n.log.Warn("the disk is slow; transferring leadership", "sync_takes", took)
			wg.Go(func() {
				defer handing.Store(false)
				ctx, cancel := context.WithTimeout(ctx, s.SlowSync)
				defer cancel()
				if err := (transfer{n}).force(ctx); err != nil {
					n.log.Warn("cannot transfer leadership", "error", err)
				}
			})
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

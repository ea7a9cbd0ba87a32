package raftstore

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/membership"
	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/internal/requests"
	"github.com/turnlog/turnlog/internal/signal"
)

// TransferLeadership makes this node, if it leads, transfer leadership to the voter with the longest
// log. Meanwhile, the node proposes nothing.
func (n *Node) TransferLeadership(ctx context.Context) error {
	r := n.raft.Load()
	if r == nil || r.State() != raft.Leader {
		return propose.NotLeader().Err
	}
	release, err := n.writes.proposer.Hold(ctx)
	if err != nil {
		return unavailable("leadership was not transferred: operations in flight did not end in time: %v", err)
	}
	defer release()
	target, ok := transfer{n}.target(ctx)
	if !ok {
		return unavailable("leadership was not transferred: no other voter that could lead answers")
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
		serving, changed := t.node.lead.Serves()
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
	return t.targetWithin(ctx, requests.SomeUnread)
}

// targetWithin returns the best transfer target with no more harm than that.
func (t transfer) targetWithin(ctx context.Context, most requests.Harm) (target membership.Server, ok bool) {
	return t.ask(ctx).best(most)
}

// ask returns what the other voters that answer say of themselves, in the configuration's order.
func (t transfer) ask(ctx context.Context) (heard voterAnswers) {
	var wg sync.WaitGroup
	for _, s := range t.node.raft.Configuration() {
		if !s.Voter || s.ID == t.node.id {
			continue
		}
		a := &answer{Server: s}
		heard = append(heard, a)
		wg.Go(func() { a.Status, a.err = t.node.statusOf(ctx, s.ID) })
	}
	wg.Wait()
	return slices.DeleteFunc(heard, func(a *answer) bool { return a.err != nil })
}

// answer is what a voter says of itself.
type answer struct {
	membership.Server
	requests.Status
	err error
}

type voterAnswers []*answer

func (heard voterAnswers) best(most requests.Harm) (target membership.Server, ok bool) {
	var best requests.Status
	for _, a := range heard {
		if a.Harm() <= most && !a.Lacks() && (!ok || a.LeadsBetter(best)) {
			target, ok, best = a.Server, true, a.Status
		}
	}
	return target, ok
}

// leadSince reports whether one of the voters leads in a later term.
func (heard voterAnswers) leadSince(term uint64) bool {
	return slices.ContainsFunc(heard, func(a *answer) bool { return a.Term > term && a.Role == "leader" })
}

// force has the transfer target stand for election although something is in flight here
// that may never end. What was sent to the others is in that node's log, and calls
// without an outcome are sent again, to the new leader.
//
// Another voter may lead in a later term: while its disk hangs, Raft does not learn of it from the messages of that
// leader, and one more election would depose it. So none is called either if ctx ends before all voters were asked.
func (t transfer) force(ctx context.Context) error {
	r := t.node.raft.Load()
	if r == nil {
		return propose.NotLeader().Err
	}
	term := r.CurrentTerm()
	heard := t.ask(ctx)
	target, ok := heard.best(requests.SomeUnread)
	switch {
	case r.State() != raft.Leader || r.CurrentTerm() != term || heard.leadSince(term):
		return propose.NotLeader().Err
	case ctx.Err() != nil:
		return unavailable("leadership was not transferred: not all voters were asked in time: %v", ctx.Err())
	case !ok:
		return unavailable("leadership was not transferred: no other voter that could lead answers")
	}
	return t.callElection(target.ID, target.Addr)
}

// callElection has a voter stand for election at once. It may have lost its vote since it was chosen.
func (t transfer) callElection(id, addr string) error {
	if s, _ := t.node.raft.Configuration().Find(id); !s.Voter {
		return fmt.Errorf("node %s has no vote any more", id)
	}
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
		took := n.data.Log.Appending()
		switch leading, _, _ := n.raft.State(); {
		case took > s.StuckSync:
			n.failure.Fail(fmt.Errorf("a write to the log has not ended for %v: the disk seems to hang",
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

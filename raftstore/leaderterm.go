package raftstore

import (
	"context"
	"sync"
	"time"

	"github.com/turnlog/turnlog/internal/clustertime"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/identity"
	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/turn"
)

// leaderTerm is a term in which this node leads, from when watchRole notices it to when the node
// leads no more, or an entry of the term failed. beginTerm starts everything that runs only
// in it, endTerm stops all of that:
//
//   - cluster time, from an anchor that the other nodes' clocks correct;
//   - the proposer, with an Epoch as the term's first entry;
//   - once that is applied, parallel appends of the log, and the service of reads;
//   - the leader's duties: it records members, raises the level, and expires what is due.
//
// Changes of the membership and batches of other nodes name the term that they began in, and
// are refused in a later one.
type leaderTerm struct {
	*propose.Term
	clock *clustertime.Source

	stopDuties context.CancelFunc
	done       chan struct{} // closed when the duties are over
}

// beginTerm begins to lead in a term.
func (n *Node) beginTerm(ctx context.Context, term uint64) *leaderTerm {
	others, _ := n.raft.Voters()
	clock := clustertime.NewSource(n.cfg.Clock, n.data.State.Clock(), n.askClocks(ctx, others))
	lt := &leaderTerm{
		Term:  propose.NewTerm(term, leaderLog{n.raft.Load()}, func() int64 { return clock.Now(n.data.State.Clock()) }),
		clock: clock,
		done:  make(chan struct{}),
	}
	n.log.Info("leading", "term", term)
	ctx, lt.stopDuties = context.WithCancel(ctx)
	first, wait, err := n.writes.internalBatch(&codec.Epoch{ClusterID: identity.RandomID()})
	if err != nil {
		n.failure.Fail(err)
		close(lt.done)
		return lt
	}
	n.writes.proposer.Begin(lt.Term, first)
	go func() { // ends after endTerm; watchRole waits for it
		defer n.signals.roleChanged.Notify()
		defer close(lt.done)
		n.serveTerm(ctx, lt, wait)
	}()
	return lt
}

// endTerm stops what beginTerm started, and reports whether that is over. Until then it is called
// again: the duties look at the state, which is locked for as long as the disk takes to read what an
// entry needs, and a node whose disk hangs has to find out meanwhile who leads in its place.
func (n *Node) endTerm(lt *leaderTerm) (over bool) {
	lt.stopDuties()
	n.writes.proposer.End(lt.Term)
	select {
	case <-lt.done:
		over = true
		n.log.Info("leading no more", "term", lt.Number)
	default:
	}
	n.lead.SetServing(0) // the duties may have begun to serve when they were stopped
	return over
}

// awaitEnd ends a term and waits until that is over: what the duties use is closed then.
func (n *Node) awaitEnd(lt *leaderTerm) {
	for !n.endTerm(lt) {
		<-lt.done
	}
}

// serveTerm begins to serve when epoch, the term's first entry, is applied, and does the
// leader's duties until ctx ends.
func (n *Node) serveTerm(ctx context.Context, lt *leaderTerm, epoch func(context.Context) (turn.Result, error)) {
	if _, err := epoch(ctx); err != nil {
		n.writes.proposer.End(lt.Term)
		n.signals.roleChanged.Notify()
		return
	}
	n.data.Log.Lead(lt.Number, n.raft.Latest())
	n.lead.SetServing(lt.Number)
	var members time.Time // when to look after them next
	for {
		if now := time.Now(); now.After(members) {
			members = now.Add(2 * time.Second)
			if !n.members.Record(ctx, lt.Term) {
				members = now
			}
			n.levels.Raise(ctx, n.writes.proposeIn(lt.Term))
		}
		n.tickIfDue(ctx, lt)
		select {
		case <-ctx.Done():
			return
		case <-time.After(n.untilDue(lt)):
		}
	}
}

// tickEvery is how often, at least, a leader looks whether a deadline has passed.
const tickEvery = 100 * time.Millisecond

// untilDue is how long a leader waits for the next deadline that it knows of: one
// that is set later is noticed in time, too, if it is tickEvery away.
func (n *Node) untilDue(lt *leaderTerm) time.Duration {
	// In milliseconds as long as it may be too many for a Duration.
	left := n.data.State.NextDue() - lt.clock.Now(n.data.State.Clock())
	if left <= 0 {
		return tickEvery // there is none, or it could not be dealt with
	}
	return time.Duration(min(left, tickEvery.Milliseconds())) * time.Millisecond
}

// tickIfDue carries the cluster time into the log if something waits for it.
func (n *Node) tickIfDue(ctx context.Context, lt *leaderTerm) {
	for ctx.Err() == nil {
		due := n.data.State.NextDue()
		if due == 0 || lt.clock.Now(n.data.State.Clock()) < due {
			return
		}
		if _, err := n.writes.propose(ctx, lt.Term, &codec.Tick{}); err != nil {
			return
		}
		n.stats.ticks.Add(1)
	}
}

// clockTime is how long a new leader waits for the others to tell what their clocks
// show. That can take as long as it takes to find out that one of them is down.
const clockTime = 100 * time.Millisecond

// askClocks returns the offsets of the given nodes' wall clocks to the local one,
// as they tell them now. What was learned of a clock before says little: it may have been
// wrong then, and two wrong clocks of three are a majority. Only if no node
// answers that counts.
func (n *Node) askClocks(ctx context.Context, ids []string) []time.Duration {
	ctx, cancel := context.WithTimeout(ctx, clockTime)
	defer cancel()
	var mu sync.Mutex
	var fresh []time.Duration
	var wg sync.WaitGroup
	for _, id := range ids {
		wg.Go(func() {
			asked := n.cfg.Clock.Now()
			s, err := n.statusOf(ctx, id)
			if err != nil || s.Wall == 0 { // older nodes do not tell
				return
			}
			now := n.cfg.Clock.Now()
			by := time.UnixMilli(s.Wall).Sub(now.Round(0)) + now.Sub(asked)/2
			n.offsets.Note(id, by, now)
			mu.Lock()
			defer mu.Unlock()
			fresh = append(fresh, by)
		})
	}
	wg.Wait()
	if len(fresh) == 0 {
		return n.offsets.Of(ids, n.cfg.Clock.Now())
	}
	return fresh
}

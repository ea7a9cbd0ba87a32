package raftstore

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/group"
	"github.com/turnlog/turnlog/turn"
)

// patient has no node hold an election by itself, so that a deposed leader goes
// on believing in itself for as long as a test wants.
func patient(cfg *Config) {
	cfg.Consensus = Consensus{
		Heartbeat: 30 * time.Second, Election: 30 * time.Second, Lease: 30 * time.Second,
		Commit: 10 * time.Millisecond, RPC: 30 * time.Second,
	}
}

// elect has a node stand for election now, as one that a leader hands over to.
func (c *cluster) elect(id string) *running {
	c.t.Helper()
	r := c.nodes[id]
	for other := range c.nodes { // one that still asks gives no vote, and patient nodes ask for none again
		if !c.nodes[other].cfg.Join {
			c.asked(other)
		}
	}
	eventuallyTrue(c.t, id+" may stand for election", func() bool { return r.ballot.Stands() == nil })
	req := &raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}}
	var asked time.Time
	eventuallyTrue(c.t, id+" leads", func() bool {
		// Again, where another one was faster; not while it leads, and is about to serve.
		if time.Since(asked) > 2*time.Second && r.raft.Load().State() != raft.Leader {
			asked = time.Now()
			if err := r.trans.TimeoutNow(raft.ServerID(id), raft.ServerAddress(c.addrs[id]), req,
				&raft.TimeoutNowResponse{}); err != nil {
				c.t.Fatal(err)
			}
		}
		term, _ := r.lead.Serves()
		return term != 0
	})
	return r
}

// furthest returns the one of two nodes that has the longer log, and so can win an
// election. A patient leader's entries may reach one and not the other.
func (c *cluster) furthest(id, other string) string {
	if c.nodes[other].raft.Load().LastIndex() > c.nodes[id].raft.Load().LastIndex() {
		return other
	}
	return id
}

// begun is a context that tells when somebody first waits for its end.
type begun struct {
	context.Context
	waits func()
}

func (b begun) Done() <-chan struct{} {
	b.waits()
	return b.Context.Done()
}

// isolate makes what a node sends to the others vanish, and what they send to it.
func (c *cluster) isolate(w *wires, id string, others []string, on bool) {
	for _, o := range others {
		w.dropRequests(id, c.addrs[o], on)
		w.dropRequests(o, c.addrs[id], on)
	}
}

// A leader that is deposed without noticing must not answer a linearizable read
// from its own state, whatever arrives late.
//
// The library's VerifyLeader is held to the same, for the record: it counts any
// answer that comes in after the question, to whatever it belongs.
//
// If a vote is lost, the next election begins so late that the old leader has given up by then: it is tried again.
func TestLateAnswersDoNotConfirmALeader(t *testing.T) {
	t.Parallel()
	for range 3 {
		if lateAnswersReachALeader(parallel{t}) {
			return
		}
	}
	t.Fatal("the old leader knew each time; the test shows nothing")
}

// parallel is a test that runs beside others already, and may have a cluster after another.
type parallel struct{ testing.TB }

// lateAnswersReachALeader reports whether the old leader still believed in itself when they came.
func lateAnswersReachALeader(t testing.TB) bool {
	w := newWires()
	c := newCluster(t, 3, w.option, patient)
	defer c.killAll() // patient nodes do not hand over
	others := []string{"n2", "n3"}
	a := c.elect("n1")
	put(t, a, "s", "old")
	eventuallyTrue(t, "the leader asks everybody", func() bool {
		return a.net.Connected("n2") && a.net.Connected("n3")
	})
	texts(t, a, "s", turn.Linearizable)
	c.level()

	// Questions of a read, and heartbeats, arrive; their answers are in flight.
	for _, o := range others {
		w.holdAnswers("n1", c.addrs[o], true)
	}
	early := make(chan turn.Result, 1)
	go func() {
		r, _ := a.Query(context.Background(), &turn.Read{Key: key("s")}, turn.Consistency{})
		early <- r
	}()
	eventuallyTrue(t, "a read is in flight", func() bool { return a.reads.LeaderStats().Rounds >= 2 })
	verifying := a.raft.Load().VerifyLeader() // makes it send heartbeats now
	for _, o := range others {
		eventuallyTrue(t, o+" has answered", func() bool { return w.held("n1", c.addrs[o]) >= 2 })
	}
	c.isolate(w, "n1", others, true)

	b := c.elect(c.furthest("n2", "n3"))
	put(t, b, "s", "new")
	if leading, _, _ := a.raft.State(); !leading {
		return false
	}

	// A new read, and a new verification, begin. Then the late answers arrive.
	late, waits := make(chan error, 1), make(chan struct{})
	var stale turn.Result
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 700*time.Millisecond)
		defer cancel()
		var err error
		stale, err = a.Query(begun{ctx, sync.OnceFunc(func() { close(waits) })}, &turn.Read{Key: key("s")},
			turn.Consistency{})
		late <- err
	}()
	<-waits
	again := a.raft.Load().VerifyLeader()
	eventuallyTrue(t, "the read waits", func() bool {
		s := a.reads.LeaderStats()
		return s.Waiting > 0 || s.Rounds >= 3
	})
	for _, o := range others {
		w.holdAnswers("n1", c.addrs[o], false)
	}
	if err := <-late; err == nil && len(stale.Messages) != 2 {
		t.Fatalf("a read that began after the second write was acknowledged saw %d messages", len(stale.Messages))
	}
	<-early // it began before the second write, and may see it or not
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	t.Logf("VerifyLeader of the deposed leader, begun before and after: %v, %v", group.Await(ctx, verifying),
		group.Await(ctx, again))

	c.isolate(w, "n1", others, false)
	if got := texts(t, a, "s", turn.Linearizable); len(got) != 2 {
		t.Fatalf("the healed node reads %v", got)
	}
	return true
}

// A learner's answer does not count: with it a leader that is cut off from the
// other voters would have as many confirmations as a majority takes.
func TestLearnersDoNotConfirmALeader(t *testing.T) {
	w := newWires()
	c := newCluster(t, 3, w.option, patient)
	defer c.killAll() // patient nodes do not hand over
	a := c.elect("n1")
	c.addrs["n4"] = freeAddr(t)
	learner := c.start("n4", func(cfg *Config) { cfg.Join = true })
	if err := group.Await(t.Context(),
		a.raft.Load().AddNonvoter("n4", raft.ServerAddress(c.addrs["n4"]), 0, hang)); err != nil {
		t.Fatal(err)
	}
	put(t, a, "s", "old")
	eventuallyTrue(t, "the learner follows", func() bool {
		r, err := learner.Query(t.Context(), &turn.Read{Key: key("s")}, turn.Consistency{Level: turn.Stale})
		return err == nil && len(r.Messages) == 1 && a.net.Connected("n4")
	})
	c.level()
	others := []string{"n2", "n3"}
	c.isolate(w, "n1", others, true)
	c.isolate(w, "n4", others, true)
	b := c.elect(c.furthest("n2", "n3"))
	put(t, b, "s", "new")

	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	verified := a.raft.Load().VerifyLeader()
	if r, err := a.Query(ctx, &turn.Read{Key: key("s")}, turn.Consistency{}); err == nil && len(r.Messages) != 2 {
		t.Fatal("a deposed leader with a learner answered from an old state")
	}
	ctx, cancel = context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	t.Logf("VerifyLeader of the deposed leader: %v", group.Await(ctx, verified))
}

func TestBoundedReads(t *testing.T) {
	c := newCluster(t, 3, func(cfg *Config) { cfg.Calls.LeaderWait = 2 * time.Second })
	leader := c.leader()
	c.ready()
	f := c.follower()
	put(t, leader, "s", "one")
	bounded := func(r *running, age time.Duration) (int, error) {
		res, err := r.Query(t.Context(), &turn.Read{Key: key("s")}, turn.Consistency{Level: turn.Bounded, MaxAge: age})
		return len(res.Messages), err
	}
	for _, age := range []time.Duration{0, time.Hour} {
		eventuallyTrue(t, fmt.Sprintf("a bound of %v is kept", age), func() bool { // the leader may be late
			n, err := bounded(f, age)
			if err != nil && turn.KindOf(err) != turn.Unavailable || err == nil && n != 1 {
				t.Fatalf("a bound of %v shows %d messages, %v", age, n, err)
			}
			return err == nil
		})
	}
	eventuallyTrue(t, "the follower proves its state fresh", func() bool {
		_, _ = bounded(f, 0)
		return f.reads.Within(time.Minute)
	})
	for id := range c.addrs { // alone, it may answer only as far as the proof reaches
		if id != f.id {
			c.kill(id)
		}
	}
	if n, err := bounded(f, time.Hour); n != 1 || err != nil {
		t.Fatalf("alone, a bound of an hour shows %d messages, %v", n, err)
	}
	if _, err := bounded(f, time.Nanosecond); turn.KindOf(err) != turn.Unavailable {
		t.Fatalf("alone, a bound of a nanosecond: %v", err)
	}
	if n := len(texts(t, f, "s", turn.Stale)); n != 1 {
		t.Fatalf("a stale read shows %d messages", n)
	}
}

// A leader that reaches no other node must not confirm itself, whether or not it has
// noticed yet that it is alone.
func TestLeaderAloneIsNotConfirmed(t *testing.T) {
	c := newCluster(t, 3, patient)
	defer c.killAll()
	a := c.elect("n1")
	put(t, a, "s", "x")
	c.kill("n2")
	eventuallyTrue(t, "a majority confirms the leader", func() bool {
		_, ok := a.reads.LeaderIndex(t.Context())
		return ok
	})
	c.kill("n3")
	for range 5 {
		if index, ok := a.reads.LeaderIndex(t.Context()); ok {
			t.Fatalf("read index %d without a majority", index)
		}
	}
}

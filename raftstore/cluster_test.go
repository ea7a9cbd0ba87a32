package raftstore

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/membership"
	"github.com/turnlog/turnlog/internal/ports"
	"github.com/turnlog/turnlog/turn"
)

// cluster is a cluster in this process, over loopback sockets. Nodes can be
// stopped and started again; every test ends with a look at all of them.
type cluster struct {
	t       testing.TB
	dir     string
	addrs   map[string]string
	options []func(*Config)
	nodes   map[string]*running
}

type running struct {
	*Node
	stop func() error // ends Run and returns its error
	done chan struct{}
	err  error // valid after done is closed
}

// ids of a cluster of n nodes.
func ids(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("n%d", i+1))
	}
	return out
}

// newCluster starts n nodes.
func newCluster(t testing.TB, n int, options ...func(*Config)) *cluster {
	t.Helper()
	c := reserve(t, n, options...)
	for _, id := range ids(n) {
		c.start(id)
	}
	return c
}

// reserve makes addresses for n nodes and starts none. Tests of clusters wait
// most of the time, so they run beside each other.
func reserve(t testing.TB, n int, options ...func(*Config)) *cluster {
	if t, ok := t.(*testing.T); ok {
		t.Parallel()
	}
	c := &cluster{t: t, dir: t.TempDir(), addrs: make(map[string]string), options: options,
		nodes: make(map[string]*running)}
	for _, id := range ids(n) {
		c.addrs[id] = freeAddr(t)
	}
	t.Cleanup(c.close)
	return c
}

func freeAddr(t testing.TB) string {
	t.Helper()
	return ports.For(t, 1)[0]
}

func testLogger() *slog.Logger {
	if os.Getenv("TURNLOG_TEST_LOG") == "" {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func (c *cluster) config(id string, options ...func(*Config)) Config {
	cfg := Config{
		NodeID: id, DataDir: filepath.Join(c.dir, id),
		Peers:          Peers{Addr: c.addrs[id], Advertise: c.addrs[id]},
		InitialCluster: c.addrs,
		Consensus: Consensus{
			Heartbeat: 250 * time.Millisecond, Election: 250 * time.Millisecond, Lease: 200 * time.Millisecond,
			Commit: 10 * time.Millisecond, RPC: time.Second,
		},
		// Where a test wants no caller to notice, a machine that is busy with other
		// things must not make one notice.
		Calls:   CallBounds{LeaderWait: hang, OutcomeWait: hang, DrainWait: hang},
		Storage: StorageBounds{ReserveBytes: 1, SegmentBytes: 1 << 20},
		Logger:  testLogger(),
	}
	for _, o := range append(c.options, options...) {
		o(&cfg)
	}
	return cfg
}

// start opens and runs a node.
func (c *cluster) start(id string, options ...func(*Config)) *running {
	c.t.Helper()
	return c.run(c.open(id, options...))
}

func (c *cluster) open(id string, options ...func(*Config)) *Node {
	c.t.Helper()
	n, err := Open(c.config(id, options...))
	if err != nil {
		c.t.Fatalf("open %s: %v", id, err)
	}
	return n
}

func (c *cluster) run(n *Node) *running {
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{Node: n, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.err = n.Run(ctx)
	}()
	r.stop = sync.OnceValue(func() error {
		cancel()
		select {
		case <-r.done:
			return r.err
		case <-time.After(hang):
			return fmt.Errorf("%s does not stop", n.id)
		}
	})
	c.nodes[n.id] = r
	return r
}

// stop stops a node in an orderly way.
func (c *cluster) stop(id string) {
	c.t.Helper()
	if err := c.nodes[id].stop(); err != nil {
		c.t.Fatalf("stop %s: %v", id, err)
	}
	delete(c.nodes, id)
}

// kill stops a node without any farewell.
func (c *cluster) kill(id string) {
	r := c.nodes[id]
	r.failure.Fail(errKilled)
	<-r.done
	delete(c.nodes, id)
}

// level waits until all running nodes have the same log.
func (c *cluster) level() {
	c.t.Helper()
	eventuallyTrue(c.t, "all logs end alike", func() bool {
		ends := make(map[uint64]bool)
		for _, r := range c.nodes {
			ends[r.data.Log.LastDurable()] = true
		}
		return len(ends) == 1
	})
}

func (c *cluster) killAll() {
	for id := range c.nodes {
		c.kill(id)
	}
}

var errKilled = fmt.Errorf("killed by the test")

func (c *cluster) close() {
	for id, r := range c.nodes {
		if err := r.stop(); err != nil && !c.t.Failed() {
			c.t.Errorf("stop %s: %v", id, err)
		}
	}
}

// hang is longer than anything takes on a busy machine: what has not come about by then
// never will.
const hang = time.Minute

// eventuallyTrue waits for a condition.
func eventuallyTrue(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(hang); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("does not come true: %s", what)
		}
	}
}

// leader waits until a running node leads and serves.
func (c *cluster) leader() *running {
	c.t.Helper()
	var leader *running
	eventuallyTrue(c.t, "there is a leader", func() bool {
		for _, r := range c.nodes {
			if term, _ := r.lead.Serves(); term != 0 {
				leader = r
				return true
			}
		}
		return false
	})
	return leader
}

// leadBy has leadership handed over until node id has it. TransferLeadership chooses by itself, and the
// same node each time if all have as much.
func (c *cluster) leadBy(id string) {
	c.t.Helper()
	eventuallyTrue(c.t, id+" leads", func() bool {
		leader := c.leader()
		if leader.id == id {
			return true
		}
		c.ready()
		release, err := leader.writes.proposer.Hold(c.t.Context())
		if err != nil {
			return false
		}
		defer release()
		_ = transfer{leader.Node}.to(c.t.Context(), leader.raft.Load(), membership.Server{ID: id, Addr: c.addrs[id]})
		return false
	})
}

// follower waits for a leader and returns another running node.
func (c *cluster) follower() *running {
	c.t.Helper()
	_, f := c.pair()
	return f
}

// pair waits for a leader and returns it and another running node.
func (c *cluster) pair() (leader, follower *running) {
	c.t.Helper()
	leader = c.leader()
	for _, id := range ids(len(c.addrs)) {
		if r := c.nodes[id]; r != nil && r != leader {
			return leader, r
		}
	}
	c.t.Fatal("no follower runs")
	return nil, nil
}

// ready waits until all running nodes are ready.
func (c *cluster) ready() {
	c.t.Helper()
	for id, r := range c.nodes {
		eventuallyTrue(c.t, id+" is ready", func() bool { ok, _ := r.Ready(); return ok })
	}
}

// parallel runs so many goroutines that each repeat step until it returns false.
func (c *cluster) parallel(goroutines int, step func() bool) {
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for step() {
			}
		})
	}
	wg.Wait()
}

func key(name string) turn.Key { return turn.Key{Namespace: "0", Name: name} }

func message(id, data string) turn.NewMessage { return turn.NewMessage{ID: id, Data: []byte(data)} }

func appendOp(name string, data ...string) *turn.Append {
	op := &turn.Append{Key: key(name)}
	for _, d := range data {
		op.Messages = append(op.Messages, message("", d))
	}
	return op
}

// put appends on a node and fails the test if that does not succeed.
func put(t testing.TB, r *running, name string, data ...string) turn.Result {
	t.Helper()
	res, err := r.Apply(t.Context(), appendOp(name, data...))
	if err != nil {
		t.Fatalf("append to %s at %s: %v", name, r.id, err)
	}
	return res
}

// texts reads a session's messages on a node.
func texts(t testing.TB, r *running, name string, level turn.Level) []string {
	t.Helper()
	res, err := r.Query(t.Context(), &turn.Read{Key: key(name)}, turn.Consistency{Level: level, MaxAge: time.Second})
	if err != nil {
		t.Fatalf("read %s at %s: %v", name, r.id, err)
	}
	var out []string
	for _, m := range res.Messages {
		out = append(out, string(m.Data))
	}
	return out
}

// sameState holds all running nodes to the same state hash.
func (c *cluster) sameState() {
	c.t.Helper()
	for range 5 {
		if c.sameHash() {
			return
		}
	}
	c.t.Fatal("five checksums, and each was missed by a node")
}

// sameHash has the leader hash its state, and holds all running nodes to that. It
// returns false if one of them got a snapshot in the place of the entry that asked for
// it: a dump may include more entries than its snapshot says.
func (c *cluster) sameHash() bool {
	c.t.Helper()
	var index uint64
	var want string
	installed := make(map[string]uint64)
	for id, r := range c.nodes {
		installed[id] = r.Stats().Snapshots.Installed
	}
	eventuallyTrue(c.t, "a checksum is taken", func() bool { // by a leader that stays one meanwhile
		ctx, cancel := context.WithTimeout(c.t.Context(), 10*time.Second)
		defer cancel()
		var err error
		index, want, err = c.leader().Checksum(ctx)
		return err == nil
	})
	for id, r := range c.nodes {
		passed := false
		eventuallyTrue(c.t, id+" has hashed its state", func() bool {
			i, _ := r.data.State.StateHash()
			passed = i < index && r.Stats().Snapshots.Installed > installed[id]
			return i >= index || passed
		})
		if passed {
			return false
		}
		if i, got := r.data.State.StateHash(); i != index || got != want {
			c.t.Fatalf("state of %s at %d is %s, the leader's at %d is %s", id, i, got, index, want)
		}
	}
	return true
}

func TestSingleNode(t *testing.T) {
	c := newCluster(t, 1)
	n := c.leader()
	for i := range 10 {
		if r := put(t, n, "s", fmt.Sprint(i)); r.First != uint64(i+1) {
			t.Fatalf("append %d got seq %d", i, r.First)
		}
	}
	want := "0 1 2 3 4 5 6 7 8 9"
	if got := strings.Join(texts(t, n, "s", turn.Linearizable), " "); got != want {
		t.Fatalf("read %s", got)
	}
	c.stop("n1")
	n = c.start("n1")
	if got := strings.Join(texts(t, n, "s", turn.Linearizable), " "); got != want {
		t.Fatalf("read %s after a restart", got)
	}
	c.kill("n1")
	n = c.start("n1")
	put(t, n, "s", "10")
	if got := strings.Join(texts(t, n, "s", turn.Linearizable), " "); got != want+" 10" {
		t.Fatalf("read %s after a kill", got)
	}
	c.ready()
}

func TestThreeNodes(t *testing.T) {
	c := newCluster(t, 3)
	c.leader()
	c.ready()
	for i, id := range ids(3) {
		put(t, c.nodes[id], "s", fmt.Sprint(i))
		for _, reader := range ids(3) {
			if got := len(texts(t, c.nodes[reader], "s", turn.Linearizable)); got != i+1 {
				t.Fatalf("%s reads %d messages after %d appends", reader, got, i+1)
			}
			if got := len(texts(t, c.nodes[reader], "s", turn.Bounded)); got > i+1 {
				t.Fatalf("%s reads %d messages after %d appends", reader, got, i+1)
			}
		}
	}
	c.sameState()
	eventuallyTrue(t, "a follower describes the whole cluster", func() bool {
		st, err := c.follower().Cluster(t.Context())
		if err != nil || st.ID == "" || len(st.Nodes) != 3 {
			t.Fatalf("status %+v, %v", st, err)
		}
		if term, _ := c.leader().lead.Serves(); st.Leader != c.leader().id || st.Term != term {
			return false // a machine that is busy with other things may have ended a term
		}
		for _, n := range st.Nodes {
			if !n.Reachable || n.StateHash == "" || n.Match == 0 {
				return false
			}
		}
		return true
	})
}

func TestLeaderKilled(t *testing.T) {
	c := newCluster(t, 3)
	leader := c.leader()
	f := c.follower()
	put(t, f, "s", "before")
	began := time.Now()
	c.kill(leader.id)
	put(t, f, "s", "after")
	t.Logf("served again after %v", time.Since(began))
	if got := texts(t, f, "s", turn.Linearizable); len(got) != 2 {
		t.Fatalf("read %v", got)
	}
	c.start(leader.id)
	put(t, c.nodes[leader.id], "s", "back")
	c.sameState()
}

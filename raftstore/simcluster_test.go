package raftstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/vfs/simdisk"
)

// simCluster is a cluster in a synctest bubble: real nodes and a real state
// machine, on a network in memory, with logs and votes on disks in memory, in fake time.
//
// States are kept in real files. What a power cut leaves of them is tried in package fsm,
// sector by sector.
type simCluster struct {
	t     *testing.T
	rnd   *rand.Rand // of the faults
	net   *simNet
	dir   string
	ids   []string
	boot  func(*Config)
	tardy string // a node that is slow to notice that it leads no more

	mu    sync.Mutex
	nodes map[string]*simNode // those that run
	disks map[string]*simdisk.Disk

	skew      time.Duration // that a clock is wrong by at most
	slowReads time.Duration // of a node that starts: each one of its log takes so long

	crashes   int
	installed uint64 // snapshots
	replaced  int    // members
}

type simNode struct {
	*Node
	disk *simdisk.Disk
	slow *slowEngine
	done chan struct{}
	err  error // valid after done is closed
	stop context.CancelFunc
}

// slowEngine is a log whose writes take time, or until its gate opens. It waits
// before it enters the engine: fake time does not pass while a goroutine waits for
// a mutex.
type slowEngine struct {
	raftlog.Engine
	mu   sync.Mutex
	most time.Duration
	read time.Duration // that a read takes
	gate chan struct{} // nil: open
	rnd  *rand.Rand
	// stored is told of what is about to be durable.
	stored func([]*raft.Log)
}

// shut closes the gate.
func (e *slowEngine) shut() (open func()) {
	gate := make(chan struct{})
	e.mu.Lock()
	defer e.mu.Unlock()
	e.gate = gate
	return sync.OnceFunc(func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.gate = nil
		close(gate)
	})
}

func (e *slowEngine) set(most time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.most, e.read = most, 0
}

func (e *slowEngine) Get(index uint64, log *raft.Log) error {
	e.mu.Lock()
	wait := e.read
	e.mu.Unlock()
	time.Sleep(wait)
	return e.Engine.Get(index, log)
}

func (e *slowEngine) Append(logs []*raft.Log) error {
	e.mu.Lock()
	wait, gate := time.Duration(e.rnd.Int64N(int64(e.most)+1)), e.gate
	e.mu.Unlock()
	time.Sleep(wait)
	if gate != nil {
		<-gate
	}
	e.stored(logs)
	return e.Engine.Append(logs)
}

// skewedClock is wrong by so much.
type skewedClock time.Duration

func (c skewedClock) Now() time.Time { return time.Now().Add(time.Duration(c)) }

func newSimCluster(t *testing.T, seed uint64, dir string, nodes int) *simCluster {
	c := &simCluster{
		t: t, rnd: rand.New(rand.NewPCG(seed, 2)), net: newSimNet(seed), dir: dir, ids: ids(nodes),
		nodes: make(map[string]*simNode), disks: make(map[string]*simdisk.Disk),
	}
	c.tardy = c.ids[c.rnd.IntN(nodes)]
	if c.skew = time.Minute; c.exact(seed) {
		c.skew = simExactSkew
	}
	for _, id := range c.ids {
		c.disks[id] = simdisk.New()
		c.start(id)
	}
	return c
}

func (c *simCluster) config(id string) Config {
	addrs := make(map[string]string)
	for _, id := range c.ids {
		addrs[id] = id
	}
	cfg := Config{
		NodeID: id, DataDir: filepath.Join(c.dir, id), InitialCluster: addrs,
		Peers: Peers{
			Advertise: id, Listener: c.net.listen(id),
			Dial: func(ctx context.Context, addr string) (net.Conn, error) { return c.net.dial(ctx, id, addr) },
		},
		Log: Log{Disk: c.disks[id]},
		Storage: StorageBounds{
			SegmentBytes: 64 << 10, CompactBytes: 48 << 10, TailBytes: 8 << 10,
			FreeBytes: func(string) (uint64, error) { return 1 << 40, nil },
		},
		Clock:  skewedClock(time.Duration(c.rnd.Int64N(int64(2*c.skew))) - c.skew),
		Logger: testLogger().With("at", "sim"),
	}
	cfg.State.FlushBytes = 64 << 10
	if id == c.tardy {
		cfg.Consensus = slowTimers()
	}
	if c.boot != nil {
		c.boot(&cfg)
	}
	return cfg
}

func (c *simCluster) start(id string) { c.startWith(c.config(id)) }

func (c *simCluster) startWith(cfg Config) {
	id := cfg.NodeID
	// The node looks for its log in the real file system, too.
	if err := os.MkdirAll(filepath.Join(cfg.DataDir, raftlog.WALName), 0o700); err != nil {
		c.t.Fatal(err)
	}
	slow := &slowEngine{rnd: rand.New(rand.NewPCG(c.rnd.Uint64(), 0)),
		stored: func(logs []*raft.Log) { c.net.safety.stored(id, logs) }}
	cfg.Log.wrap = func(e raftlog.Engine) raftlog.Engine {
		slow.Engine = e
		return slow
	}
	n, err := Open(cfg)
	if err != nil {
		c.t.Fatalf("open %s: %v", id, err)
	}
	slow.read = c.slowReads
	r := &simNode{Node: n, disk: c.disks[id], slow: slow, done: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	go func() {
		defer close(r.done)
		r.err = n.Run(ctx)
	}()
	c.mu.Lock()
	c.nodes[id] = r
	c.mu.Unlock()
}

// revive starts the nodes that do not run.
func (c *simCluster) revive() {
	for _, id := range c.ids {
		if c.node(id) == nil {
			c.start(id)
		}
	}
}

// running returns the nodes that run, by id.
func (c *simCluster) running() []*simNode {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []*simNode
	for _, n := range c.nodes {
		list = append(list, n)
	}
	slices.SortFunc(list, func(a, b *simNode) int { return cmp.Compare(a.id, b.id) })
	return list
}

// node returns a node that runs, nil if it does not.
func (c *simCluster) node(id string) *simNode {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes[id]
}

func (c *simCluster) take(id string) *simNode {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.nodes[id]
	delete(c.nodes, id)
	return n
}

// crash cuts a node's power. Of what its log had not synced, chance decides what
// is left.
func (c *simCluster) crash(id string) {
	n := c.take(id)
	if n == nil {
		return
	}
	c.net.reset(id)
	c.crashes++
	// Nothing that the dying node does from here on is seen by anybody.
	n.disk.Fail(func(op simdisk.Op) error {
		if op.Changes() {
			return syscall.EIO
		}
		return nil
	})
	policies := simdisk.Policies()
	c.disks[id] = n.disk.Crash(policies[c.rnd.IntN(len(policies))], c.rnd)
	n.failure.Fail(errKilled)
	c.net.reset(id)
	c.join(n)
}

// halt stops a node in an orderly way.
func (c *simCluster) halt(id string) {
	n := c.take(id)
	if n == nil {
		return
	}
	n.stop()
	c.join(n)
	if n.err != nil && !errors.Is(n.err, ErrRemoved) {
		c.t.Errorf("stop of %s: %v", id, n.err)
	}
	c.disks[id] = n.disk.Kill()
}

func (c *simCluster) join(n *simNode) {
	c.installed += n.Stats().Snapshots.Installed
	select {
	case <-n.done:
	case <-time.After(time.Minute):
		c.t.Errorf("%s does not stop", n.id)
		return
	}
	if n.err != nil && !errors.Is(n.err, errKilled) && !errors.Is(n.err, ErrRemoved) {
		c.t.Errorf("%s stopped: %v", n.id, n.err)
	}
	if l, _ := n.data.Mark.Lost(); l.Doubt > 0 { // no disk here is put back
		c.t.Errorf("%s believes that it lost %v", n.id, l)
	}
}

// others returns the ids of all nodes but one.
func (c *simCluster) others(id string) []string {
	return slices.DeleteFunc(slices.Clone(c.ids), func(o string) bool { return o == id })
}

// leader returns the node that leads and serves, nil if there is none.
func (c *simCluster) leader() *simNode {
	for _, n := range c.running() {
		if term, _ := n.lead.Serves(); term != 0 {
			return n
		}
	}
	return nil
}

// within fails the test unless a condition comes true within some fake time.
func (c *simCluster) within(limit time.Duration, what string, ok func() bool) {
	c.t.Helper()
	if !c.soon(limit, ok) {
		c.t.Fatalf("not within %v: %s", limit, what)
	}
}

// recover mends everything, and waits until all nodes serve.
func (c *simCluster) recover() {
	c.t.Helper()
	c.net.heal()
	c.revive()
	for _, n := range c.running() {
		n.slow.set(0)
	}
	if c.soon(30*time.Second, func() bool {
		return c.leader() != nil &&
			!slices.ContainsFunc(c.running(), func(n *simNode) bool { ok, _ := n.Ready(); return !ok })
	}) {
		return
	}
	for _, n := range c.running() {
		ok, why := n.Ready()
		applied, _ := n.data.State.Applied()
		c.t.Logf("%s: ready %v (%v), level %d, applied %d, configuration %v", n.id, ok, why,
			n.data.State.Level(), applied, n.raft.Configuration())
	}
	c.t.Fatal("not all nodes are ready within 30s")
}

// sameState holds all nodes to the same state hash.
func (c *simCluster) sameState() {
	c.t.Helper()
	for range 5 {
		index, want := c.checksum()
		passed := false
		for _, n := range c.running() {
			got := c.hashAt(n, index)
			if got != "" && got != want {
				c.t.Fatalf("the state of %s after entry %d is %s, the leader's is %s", n.id, index, got, want)
			}
			passed = passed || got == ""
		}
		if !passed {
			return
		}
	}
	c.t.Fatal("five checksums, and each was missed by a node")
}

// checksum has the leader hash its state.
func (c *simCluster) checksum() (index uint64, sum string) {
	c.t.Helper()
	c.within(30*time.Second, "a checksum is taken", func() bool {
		n := c.leader()
		if n == nil {
			return false
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		var err error
		index, sum, err = n.Checksum(ctx)
		return err == nil
	})
	return index, sum
}

// hashAt returns a node's hash as of an entry; none if it got a snapshot in the
// place of that entry.
func (c *simCluster) hashAt(n *simNode, index uint64) string {
	c.t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if i, sum := n.data.State.StateHash(); i == index {
			return sum
		}
	}
	s := n.Stats()
	applied, _ := n.data.State.Applied()
	at := fmt.Sprintf("%s is at entry %d, its log goes from %d to %d, %d snapshots were installed", n.id, applied,
		s.Log.First, s.Log.Last, s.Snapshots.Installed)
	if applied < index || s.Snapshots.Installed == 0 {
		c.t.Fatalf("no hash after entry %d: %s", index, at)
	}
	c.t.Logf("no hash after entry %d: %s", index, at)
	return ""
}

// abandon ends what still runs after a failure: a bubble may leave nothing behind.
func (c *simCluster) abandon() {
	for _, id := range c.ids {
		c.crash(id)
	}
}

func (c *simCluster) close() {
	for _, id := range c.ids {
		c.halt(id)
	}
}

// bubble runs f in fake time, with a folder on a disk that is fast to sync, if
// there is one. When f returns, nothing that it started may be left.
func bubble(t *testing.T, f func(t *testing.T, dir string)) {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "turnlog-sim-")
	if err != nil {
		dir = t.TempDir()
	}
	defer os.RemoveAll(dir)
	synctest.Test(t, func(t *testing.T) { f(t, dir) })
}

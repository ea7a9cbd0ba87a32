package raftstore

import (
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// chaos does things to a cluster that is being written to.
type chaos struct {
	*cluster
	w *wires
	r *rand.Rand

	mu      sync.Mutex
	current map[string]*running // as the writers see it
}

// via spreads a writer's calls over the nodes, fifty at a time.
func (c *chaos) via(writer, turn int) *running {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current[ids(3)[(writer+turn/50)%3]]
}

func (c *chaos) restart(id string) {
	n := c.start(id)
	c.mu.Lock()
	c.current[id] = n
	c.mu.Unlock()
}

// step does one thing to node id, or to its connections to another.
func (c *chaos) step() {
	id, other := ids(3)[c.r.IntN(3)], ids(3)[c.r.IntN(3)]
	wait := time.Duration(c.r.IntN(300)) * time.Millisecond // how long the fault lasts
	switch c.r.IntN(7) {
	case 0:
		c.kill(id)
		time.Sleep(wait)
		c.restart(id)
	case 1:
		c.stop(id)
		time.Sleep(wait)
		c.restart(id)
	case 2: // most of the time it is not the leader, and says so
		_ = c.nodes[id].TransferLeadership(c.t.Context())
	case 3:
		if err := c.nodes[id].Snapshot(c.t.Context()); err != nil {
			c.t.Logf("snapshot of %s: %v", id, err)
		}
	case 4:
		c.w.dropRequests(id, c.addrs[other], true)
		time.Sleep(wait)
		c.w.dropRequests(id, c.addrs[other], false)
	case 5:
		c.w.holdAnswers(id, c.addrs[other], true)
		time.Sleep(wait)
		c.w.closeAll(id, c.addrs[other])
		c.w.holdAnswers(id, c.addrs[other], false)
	case 6:
		others := slices.DeleteFunc(ids(3), func(o string) bool { return o == id })
		c.isolate(c.w, id, others, true)
		time.Sleep(2 * wait)
		c.isolate(c.w, id, others, false)
	}
}

// TestChaos lets everything happen at once for a while: kills, orderly stops,
// transfers, cut links, lost replies, snapshots that leave no log behind, with
// writers at all nodes. TURNLOG_CHAOS sets how long (default 3s), TURNLOG_SEED
// repeats a run's choices.
func TestChaos(t *testing.T) {
	lasts, err := time.ParseDuration(os.Getenv("TURNLOG_CHAOS"))
	if err != nil {
		lasts = 3 * time.Second
	}
	seed, err := strconv.ParseUint(os.Getenv("TURNLOG_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	t.Logf("TURNLOG_SEED=%d", seed)
	w := newWires()
	c := &chaos{cluster: newCluster(t, 3, w.option, smallLog), w: w, r: rand.New(rand.NewPCG(seed, 0))}
	c.current = maps.Clone(c.nodes)
	c.leader()
	c.ready()
	writes := startWriters(t, "w", 9, c.via)
	for end := time.Now().Add(lasts); time.Now().Before(end); {
		c.step()
		time.Sleep(time.Duration(c.r.IntN(200)) * time.Millisecond) // without a new fault
	}
	c.leader()
	c.ready()
	if acked, _, _ := writes.end(); acked < 50 {
		t.Fatal("hardly anything was written")
	}
	c.sameState()
	for _, n := range c.nodes {
		writes.check(n)
		s := n.Stats()
		t.Logf("%s since its last start: %d snapshots installed, %d calls sent again, %d leaders seen", n.id,
			s.Snapshots.Installed, s.Calls.Retries, s.Leader.Changes)
	}
}

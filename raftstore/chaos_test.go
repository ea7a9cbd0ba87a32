package raftstore

import (
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"
)

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
	r := rand.New(rand.NewPCG(seed, 0))

	w := newWires()
	c := newCluster(t, 3, w.option, smallLog)
	c.leader()
	c.ready()
	var mu sync.Mutex // guards nodes
	nodes := make(map[string]*running)
	for id, n := range c.nodes {
		nodes[id] = n
	}
	pick := func(writer, turn int) *running {
		mu.Lock()
		defer mu.Unlock()
		return nodes[ids(3)[(writer+turn/50)%3]]
	}
	replace := func(id string) {
		n := c.start(id)
		mu.Lock()
		nodes[id] = n
		mu.Unlock()
	}
	writes := startWriters(t, "w", 9, pick)
	for end := time.Now().Add(lasts); time.Now().Before(end); {
		id, other := ids(3)[r.IntN(3)], ids(3)[r.IntN(3)]
		wait := time.Duration(r.IntN(300)) * time.Millisecond
		switch what := r.IntN(7); what {
		case 0:
			c.kill(id)
			time.Sleep(wait)
			replace(id)
		case 1:
			c.stop(id)
			time.Sleep(wait)
			replace(id)
		case 2:
			if err := c.nodes[id].TransferLeadership(t.Context()); err != nil {
				t.Logf("transfer from %s: %v", id, err)
			}
		case 3:
			if err := c.nodes[id].Snapshot(t.Context()); err != nil {
				t.Logf("snapshot of %s: %v", id, err)
			}
		case 4:
			w.dropRequests(id, c.addrs[other], true)
			time.Sleep(wait)
			w.dropRequests(id, c.addrs[other], false)
		case 5:
			w.holdAnswers(id, c.addrs[other], true)
			time.Sleep(wait)
			w.closeAll(id, c.addrs[other])
			w.holdAnswers(id, c.addrs[other], false)
		case 6:
			others := []string{}
			for _, o := range ids(3) {
				if o != id {
					others = append(others, o)
				}
			}
			c.isolate(w, id, others, true)
			time.Sleep(2 * wait)
			c.isolate(w, id, others, false)
		}
		time.Sleep(time.Duration(r.IntN(200)) * time.Millisecond)
	}
	c.leader()
	c.ready()
	if acked, _, _ := writes.end(); acked < 50 {
		t.Fatal("hardly anything was written")
	}
	c.sameState()
	var installs, retries, changes uint64
	for _, n := range c.nodes {
		writes.check(n)
		s := n.Stats()
		installs += s.SnapshotsInstalled
		retries += s.CallsRetried
		changes += s.LeaderChanges
	}
	t.Logf("since the last starts: %d snapshots installed, %d calls sent again, %d leaders seen", installs, retries, changes)
}

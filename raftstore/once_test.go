package raftstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// writers append numbered messages without ids, each writer to its own session,
// through the given nodes by turns, and keep what they were told.
type writers struct {
	t       *testing.T
	stop    atomic.Bool
	wg      sync.WaitGroup
	mu      sync.Mutex
	acked   map[string][]string // session → acknowledged data, in order
	unsure  map[string]map[string]bool
	failed  map[string]map[string]bool // surely not applied
	longest time.Duration
}

func startWriters(t *testing.T, name string, n int, via func(writer, turn int) *running) *writers {
	w := &writers{t: t, acked: make(map[string][]string), unsure: make(map[string]map[string]bool),
		failed: make(map[string]map[string]bool)}
	for i := range n {
		session := fmt.Sprint(name, i)
		w.unsure[session], w.failed[session] = make(map[string]bool), make(map[string]bool)
		w.wg.Go(func() {
			for k := 0; !w.stop.Load(); k++ {
				w.write(via(i, k), session, fmt.Sprint(k))
			}
		})
	}
	return w
}

func (w *writers) write(r *running, session, data string) {
	began := time.Now()
	_, err := r.Apply(context.Background(), appendOp(session, data))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.longest = max(w.longest, time.Since(began))
	switch {
	case err == nil:
		w.acked[session] = append(w.acked[session], data)
	case turn.AsError(err).Applied():
		w.unsure[session][data] = true
	default:
		w.failed[session][data] = true
	}
}

// begun waits until each writer had a write acknowledged.
func (w *writers) begun() {
	w.t.Helper()
	eventuallyTrue(w.t, "each writer's first write is acknowledged", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.acked) == len(w.unsure)
	})
}

// end stops the writers and returns how many writes had which outcome.
func (w *writers) end() (acked, unsure, failed int) {
	w.stop.Store(true)
	w.wg.Wait()
	for s := range w.unsure {
		acked += len(w.acked[s])
		unsure += len(w.unsure[s])
		failed += len(w.failed[s])
	}
	w.t.Logf("%d acknowledged, %d unknown, %d refused; the longest took %v", acked, unsure, failed,
		w.longest.Round(time.Millisecond))
	return acked, unsure, failed
}

// check holds what a node has against what the writers were told.
func (w *writers) check(r *running) {
	w.t.Helper()
	for session := range w.unsure {
		got := texts(w.t, r, session, turn.Linearizable)
		next := 0 // of the acknowledged ones
		seen := make(map[string]bool)
		for _, data := range got {
			switch {
			case seen[data]:
				w.t.Fatalf("%s: message %s is twice in %s", r.id, data, session)
			case next < len(w.acked[session]) && data == w.acked[session][next]:
				next++
			case !w.unsure[session][data]:
				w.t.Fatalf("%s: message %s of %s is out of order, or was refused", r.id, data, session)
			}
			seen[data] = true
		}
		if next != len(w.acked[session]) {
			w.t.Fatalf("%s: %s lacks message %s", r.id, session, w.acked[session][next])
		}
	}
}

// Replies from the leader are lost all the time; requests arrive.
func TestLostRepliesNeitherLoseNorDouble(t *testing.T) {
	w := newWires()
	c := newCluster(t, 3, w.option)
	c.leader()
	c.ready()
	f := c.follower()
	writes := startWriters(t, "w", 8, func(int, int) *running { return f })
	to := c.addrs[c.leader().id]
	for range 40 { // the pauses are how long a fault lasts, and how long there is none
		w.holdAnswers(f.id, to, true)
		time.Sleep(time.Duration(rand.IntN(10)) * time.Millisecond)
		w.closeAll(f.id, to)
		w.holdAnswers(f.id, to, false)
		time.Sleep(time.Duration(30+rand.IntN(40)) * time.Millisecond)
	}
	if acked, unsure, failed := writes.end(); unsure+failed > 0 || acked < 100 {
		t.Fatal("a lost reply was noticed by a caller, or hardly anything was written")
	}
	writes.check(c.leader())
	writes.check(f)
	if s := f.Stats(); s.Calls.Retries == 0 || s.Forwarded.Resets == 0 {
		t.Fatalf("nothing was ever sent again: %+v", s)
	}
	c.sameState()
}

// The leader dies again and again; who writes through other nodes does not notice.
func TestLeaderKillsNeitherLoseNorDouble(t *testing.T) {
	c := newCluster(t, 3)
	for range 4 {
		leader := c.leader()
		c.ready()
		f := c.follower()
		var other *running
		for _, r := range c.nodes {
			if r != leader && r != f {
				other = r
			}
		}
		writes := startWriters(t, "w", 8, func(i, _ int) *running { return []*running{f, other}[i%2] })
		time.Sleep(time.Duration(50+rand.IntN(100)) * time.Millisecond) // it may die at any point of a write
		c.kill(leader.id)
		put(t, f, "after", leader.id)
		time.Sleep(50 * time.Millisecond) // how long the others go on without it
		c.start(leader.id)
		if acked, unsure, failed := writes.end(); unsure+failed > 0 || acked < 10 {
			t.Fatal("the death of the leader was noticed by a caller, or hardly anything was written")
		}
		for _, r := range c.nodes {
			writes.check(r)
		}
		for i := range 8 { // the next round's numbers start again
			if _, err := f.Apply(t.Context(), &turn.Delete{Keys: []turn.Key{key(fmt.Sprint("w", i))}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.sameState()
}

// A leader that is asked to stop hands over first: callers of other nodes see
// no error, those of the node itself are refused or served.
func TestOrderlyStop(t *testing.T) {
	c := newCluster(t, 3)
	for range 3 {
		c.ready()
		leader, f := c.pair()
		writes := startWriters(t, "w", 4, func(int, int) *running { return f })
		own := startWriters(t, "own", 4, func(int, int) *running { return leader })
		writes.begun()
		own.begun()
		c.stop(leader.id)
		own.stop.Store(true)
		put(t, f, "after", leader.id)
		if _, unsure, failed := writes.end(); unsure+failed > 0 {
			t.Fatal("the end of the leader was noticed by a caller of another node")
		}
		if _, unsure, _ := own.end(); unsure > 0 {
			t.Fatal("a call at a node that stops in an orderly way has no known outcome")
		}
		writes.check(f)
		own.check(f)
		for i := range 4 {
			op := &turn.Delete{Keys: []turn.Key{key(fmt.Sprint("w", i)), key(fmt.Sprint("own", i))}}
			if _, err := f.Apply(t.Context(), op); err != nil {
				t.Fatal(err)
			}
		}
		c.start(leader.id)
	}
}

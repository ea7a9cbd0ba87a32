package raftstore

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/internal/trace"
	"github.com/turnlog/turnlog/turn"
)

// TestTooManyQueries: more queries sent to the leader than it answers at a time
// are refused as what they are, and those that are not are answered.
func TestTooManyQueries(t *testing.T) {
	c := newCluster(t, 3, patient)
	defer c.killAll()
	c.elect("n1")
	put(t, c.nodes["n1"], "s", "x")
	q, err := codec.EncodeQuery(&turn.Info{Key: key("s")})
	if err != nil {
		t.Fatal(err)
	}
	const many = 4000
	errs := make([]error, many)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			for again := true; again; { // while the leader cannot reach its voters in time
				_, again, errs[i] = c.nodes["n2"].peers.Query(t.Context(), "n1", trace.Context{}, q)
			}
		})
	}
	all.Wait()
	answered, refused := 0, 0
	for _, err := range errs {
		switch {
		case err == nil:
			answered++
		case turn.KindOf(err) == turn.Overloaded, errors.Is(err, peer.ErrOverloaded):
			refused++
		default:
			t.Fatalf("a query failed with %v", err)
		}
	}
	if answered == 0 || refused == 0 {
		t.Fatalf("%d answered, %d refused: there should be some of both", answered, refused)
	}
}

// A follower that has applied what it needs answers linearizable reads itself.
func TestFollowerReadsItsOwnState(t *testing.T) {
	c := newCluster(t, 3, patient)
	defer c.killAll()
	c.elect("n1")
	n := c.nodes["n2"]
	for i := range 20 {
		put(t, c.nodes["n1"], "s", "x")
		if got := texts(t, n, "s", turn.Linearizable); len(got) != i+1 {
			t.Fatalf("after %d messages the follower reads %v", i+1, got)
		}
	}
	index, _ := c.nodes["n1"].data.State.Applied()
	if err := n.data.State.WaitApplied(t.Context(), index); err != nil {
		t.Fatal(err)
	}
	before := n.Stats().Reads.Forwarded
	for range 20 {
		texts(t, n, "s", turn.Linearizable)
	}
	if after := n.Stats().Reads.Forwarded; after != before {
		t.Fatalf("%d of 20 reads went to the leader, although the follower was not behind", after-before)
	}
}

// A halt that ends while a node answers is no answer: the node, or another one, is asked again.
func TestHaltThatEndsIsNoAnswer(t *testing.T) {
	c := newCluster(t, 3, patient)
	defer c.killAll()
	c.elect("n1")
	n := c.nodes["n1"]
	put(t, n, "s", "x")
	for _, level := range []turn.Level{turn.Linearizable, turn.Stale} {
		for range 50 {
			var halts sync.WaitGroup
			halts.Go(func() {
				for began := time.Now(); time.Since(began) < 5*time.Millisecond; {
					n.data.State.Halt(nil)
					n.applier.resume()
				}
			})
			if _, err := n.Query(t.Context(), &turn.Info{Key: key("s")}, turn.Consistency{Level: level}); err != nil {
				t.Errorf("level %v: %v", level, err)
			}
			halts.Wait()
		}
	}
}

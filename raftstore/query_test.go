package raftstore

import (
	"sync"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// TestTooManyQueries: more queries through a follower than the leader answers at
// a time are refused as what they are, and those that are not are answered.
func TestTooManyQueries(t *testing.T) {
	c := newCluster(t, 3, patient)
	defer c.killAll()
	c.elect("n1")
	put(t, c.nodes["n1"], "s", "x")
	const many = 4000
	errs := make([]error, many)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			_, errs[i] = c.nodes["n2"].Query(t.Context(), &turn.Info{Key: key("s")}, turn.Consistency{})
		})
	}
	all.Wait()
	answered, refused := 0, 0
	for _, err := range errs {
		switch {
		case err == nil:
			answered++
		case turn.KindOf(err) == turn.Overloaded:
			refused++
		default:
			t.Fatalf("a query failed with %v", err)
		}
	}
	if answered == 0 || refused == 0 {
		t.Fatalf("%d answered, %d refused: there should be some of both", answered, refused)
	}
}

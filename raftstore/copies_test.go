package raftstore

import (
	"context"
	"testing"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// Copies counts the nodes that have applied an entry, and never one that cannot be
// asked, unless the entry could not have been committed without it.
func TestCopies(t *testing.T) {
	c := newCluster(t, 3)
	n := c.leader()
	copies := func(n *running, index uint64, enough int) (bool, int) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		return n.Copies(ctx, index, enough)
	}
	r, err := n.Apply(context.Background(),
		&turn.SetMetadata{Key: turn.Key{Namespace: "0", Name: "s"}, Set: map[string]string{"a": "b"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r2 := range c.nodes {
		eventuallyTrue(t, "two others have it", func() bool {
			own, others := copies(r2, r.Index, 2)
			return own && others == 2
		})
		if own, others := copies(r2, r.Index, 1); !own || others < 1 {
			t.Errorf("one other is enough: %t, %d", own, others)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if own, others := n.Copies(ctx, r.Index+1000, 1); own || others != 0 {
		t.Errorf("an entry that is not there: %t, %d", own, others)
	}
	for id := range c.nodes {
		if c.nodes[id] != n {
			c.kill(id)
			break
		}
	}
	if own, others := copies(n, r.Index, 2); !own || others != 1 {
		t.Errorf("with a node less: %t, %d", own, others)
	}
}

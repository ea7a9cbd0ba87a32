package raftstore

import (
	"slices"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// A leader without a majority does not claim to serve from the moment at which it is without, not only
// once it has stepped down; a node that is gone still counts for the majority.
func TestClusterTellsWhetherItServes(t *testing.T) {
	c := newCluster(t, 3, func(cfg *Config) { cfg.Version = "v1" })
	n := c.leader()
	put(t, n, "s", "x")
	for id, node := range c.nodes {
		eventuallyTrue(t, id+" sees a healthy cluster", func() bool {
			cl, err := node.Cluster(t.Context())
			return err == nil && cl.Health().Status == turn.Healthy
		})
	}
	// A follower answers before it has applied the first entry that tells the time.
	eventuallyTrue(t, "every member tells its version, the cluster's time and its disk", func() bool {
		cl, err := n.Cluster(t.Context())
		return err == nil && !slices.ContainsFunc(cl.Nodes, func(m turn.Node) bool {
			return m.Version != "v1" || !m.Voter || m.Time == 0 || m.DiskFree == 0
		})
	})
	for _, id := range ids(3) {
		if id != n.id {
			c.kill(id)
		}
	}
	cl, err := n.Cluster(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if h := cl.Health(); h.Status != turn.NotServing {
		t.Errorf("without a majority: %+v", h)
	}
	eventuallyTrue(t, "both are told to be gone", func() bool {
		cl, err := n.Cluster(t.Context())
		voters, reachable := 0, 0
		for _, m := range cl.Nodes {
			if m.Voter {
				voters++
			}
			if m.Reachable {
				reachable++
			}
		}
		return err == nil && voters == 3 && reachable == 1 && !cl.Serving
	})
}

// A confirmation that was asked for under one leader is none of the next.
func TestConfirmationIsOfOneLeader(t *testing.T) {
	was := leadership{"n1", 3}
	for now, want := range map[leadership]bool{was: true, {"n2", 4}: false, {"n1", 5}: false, {"", 3}: false} {
		if leader, term, serving := now.since(was, true); leader != now.leader || term != now.term || serving != want {
			t.Errorf("%+v after %+v: %s, %d, %v", now, was, leader, term, serving)
		}
		if _, _, serving := now.since(was, false); serving {
			t.Errorf("%+v serves unconfirmed", now)
		}
	}
}

package raftstore

import (
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// A member that has no state yet does not know the cluster's level. It took it to be 0, and refused at
// once what needs more: found by the soak, `--scenario chaos-disks --seed 20263088`.
func TestMemberWithoutStateAwaitsTheLevel(t *testing.T) {
	c := newCluster(t, 3)
	put(t, c.leader(), "s", "a")
	c.recordedAll()
	c.atLevel(turn.NewestLevel)
	c.addrs["n4"] = freeAddr(t)
	n4 := c.start("n4", func(cfg *Config) { cfg.Join, cfg.Calls.LeaderWait = true, hang })
	edit := &turn.EditMessage{Key: key("s"), Message: turn.MessageRef{Seq: 1}, Data: []byte("b")}
	results, begun := make(chan error, 2), make(chan struct{})
	go func() {
		begun <- struct{}{}
		_, err := n4.Apply(t.Context(), edit)
		results <- err
	}()
	go func() {
		begun <- struct{}{}
		_, err := n4.Query(t.Context(), &turn.Sessions{Namespace: key("").Namespace, Limit: 10,
			Labels: []turn.Label{{Name: "l", Value: "v"}}},
			turn.Consistency{Level: turn.Linearizable})
		results <- err
	}()
	<-begun
	<-begun
	c.change(func(l *running) error { return l.members.AddNode(t.Context(), "n4", c.addrs["n4"]) })
	for range cap(results) {
		if err := <-results; err != nil {
			t.Errorf("a member that waited for its state says: %v", err)
		}
	}
}

// A node that finds no leader says that it does not know the cluster's.
func TestLevelIsNotGuessedWithoutALeader(t *testing.T) {
	c := reserve(t, 1)
	n1 := c.start("n1", func(cfg *Config) { cfg.Join, cfg.Calls.LeaderWait = true, 10*time.Millisecond })
	_, err := n1.Apply(t.Context(), &turn.EditMessage{Key: key("s"), Message: turn.MessageRef{Seq: 1},
		Data: []byte("b")})
	if !turn.Is(err, turn.Unavailable) || !strings.Contains(err.Error(), "does not know at which level") {
		t.Errorf("a node that waits to join says: %v", err)
	}
}

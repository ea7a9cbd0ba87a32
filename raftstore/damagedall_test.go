package raftstore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// damagedEverywhere is a cluster whose nodes were started with damaged blocks: each with those of
// one session of its own, s1 to s3, and all with those of s4.
func damagedEverywhere(t *testing.T) *cluster {
	c := filled(t)
	for i, id := range ids(3) {
		c.rotBlocks(id, fmt.Sprint("marked", 25+i))
		c.rotBlocks(id, "marked28")
	}
	c.damagedRestart()
	return c
}

// damagedRestart starts all nodes again, and waits until all know of their damage.
func (c *cluster) damagedRestart() {
	c.t.Helper()
	c.killAll()
	for _, id := range ids(3) {
		c.start(id)
	}
	for id, r := range c.nodes {
		eventuallyTrue(c.t, id+" knows of its damage", func() bool {
			damage, _ := r.data.State.Damage()
			return damage != nil
		})
	}
	c.leader()
	c.ready()
}

// Blocks are damaged on all members, so that none can send its state. What any of them has is
// served, also after a restart.
func TestDamageOnAllMembers(t *testing.T) {
	c := damagedEverywhere(t)
	for round := range 2 {
		for id, r := range c.nodes {
			put(t, r, "s5", "more")
			for _, name := range []string{"s1", "s2", "s3"} {
				for _, level := range []turn.Level{turn.Linearizable, turn.Stale} {
					if got := texts(t, r, name, level); len(got) != 10 {
						t.Errorf("round %d: %s at %s has %d messages", round, name, id, len(got))
					}
				}
			}
			_, err := r.Query(t.Context(), &turn.Read{Key: key("s4"), From: turn.FromAfter, Limit: 100},
				turn.Consistency{})
			if !turn.Is(err, turn.Corrupt) {
				t.Fatalf("round %d: s4 at %s: %v", round, id, err)
			}
			for _, says := range []string{"node n1: ", "node n2: ", "node n3: ", "delete the key"} {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("it does not say %q: %v", says, err)
				}
			}
		}
		c.damagedRestart()
	}
	// The advice.
	if _, err := c.leader().Apply(t.Context(), &turn.Delete{Keys: []turn.Key{key("s4")}}); err != nil {
		t.Fatal(err)
	}
	put(t, c.leader(), "s4", "again")
	for id, r := range c.nodes {
		if got := texts(t, r, "s4", turn.Linearizable); len(got) != 1 {
			t.Errorf("s4 at %s has %v", id, got)
		}
	}
}

// A leader whose damage no other voter is without goes on to lead: it would make way for a node
// that then makes way for it.
func TestDamagedLeaderWithoutABetterOneStays(t *testing.T) {
	c := damagedEverywhere(t)
	for id, r := range c.nodes {
		for range 3 {
			repairCluster{r.Node}.HandOver(t.Context())
		}
		if sources, damaged := (repairCluster{r.Node}).Sources(t.Context()); len(sources) > 0 || len(damaged) != 2 {
			t.Errorf("%s may fetch the state of %v; damaged are those of %v", id, sources, damaged)
		}
		if n := r.Stats().Leader.Transfers; n != 0 {
			t.Errorf("%s has handed over %d times", id, n)
		}
	}
}

// A leader that is halted hands over to one that is damaged, too, but serves what it has.
func TestHaltedLeaderMakesWayForADamagedOne(t *testing.T) {
	c := damagedEverywhere(t)
	leader := c.leader()
	damage, _ := leader.data.State.Damage()
	leader.data.State.Halt(damage)
	eventuallyTrue(t, "another node leads", func() bool { return c.leader() != leader })
	put(t, leader, "s5", "more")
	if got := texts(t, leader, "s5", turn.Linearizable); got[len(got)-1] != "more" {
		t.Errorf("s5 ends with %q", got[len(got)-1])
	}
}

// A leader whose state was repaired meanwhile has no reason to hand over.
func TestUndamagedLeaderStays(t *testing.T) {
	c := newCluster(t, 3, patient)
	defer c.killAll()
	leader := c.elect("n1")
	c.ready()
	_, term, _ := leader.raft.State()
	repairCluster{leader.Node}.HandOver(t.Context())
	if leads, now, _ := leader.raft.State(); !leads || now != term {
		t.Errorf("it led in term %d, and leads in term %d: %v", term, now, leads)
	}
}

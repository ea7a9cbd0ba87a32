package raftstore

import (
	"testing"
)

// A leader that never got a question of a node knows from the handshake which directory the node
// has, and remembers what that one acknowledged. Else an older copy of it would not be recognised.
func TestAcknowledgementsAreRememberedWithoutAQuestion(t *testing.T) {
	w := newWires()
	c := reserve(t, 2, w.option)
	w.dropRequests("n2", c.addrs["n1"], true)
	n1, n2 := c.start("n1"), c.start("n2")
	eventuallyTrue(t, "n1 leads", func() bool { term, _ := n1.lead.serves(); return term != 0 })
	put(t, n1, "s", "a") // n2 acknowledges it
	self := n2.ident.Get().Incarnation
	applied, _ := n1.state.Applied()
	if seen := n1.seen.of("n2", self); seen.Index < applied || seen.Promised == 0 {
		t.Errorf("n2 has acknowledged entry %d, and n1 remembers %+v", applied, seen)
	}
	if seen := n1.seen.boot("n2"); seen.number != 0 {
		t.Errorf("n2 has asked, in its start %d", seen.number)
	}
}

// A node was removed and added again with another directory. A question of the directory before
// comes late, or that node still runs: what was seen of the new one is not forgotten over it.
func TestLateQuestionOfAReplacedDirectory(t *testing.T) {
	c := newCluster(t, 3)
	c.recordedAll()
	c.elect("n1")
	put(t, c.nodes["n1"], "s", "a")
	before := c.nodes["n3"].facts()
	c.change(func(leader *running) error { return leader.RemoveNode(t.Context(), "n3") })
	c.ended(c.nodes["n3"])
	c.wipe("n3")
	n3 := c.start("n3", func(cfg *Config) { cfg.Join = true })
	c.change(func(leader *running) error { return leader.AddNode(t.Context(), "n3", c.addrs["n3"]) })
	c.recordedAll()
	put(t, c.nodes["n1"], "s", "b")
	self := n3.ident.Get().Incarnation
	for _, id := range []string{"n1", "n2"} {
		r := c.nodes[id]
		eventuallyTrue(t, id+" has seen something of n3", func() bool { return r.seen.of("n3", self).Index > 0 })
		seen := r.seen.of("n3", self)
		if _, err := r.answerSeen(before, []byte(`{"index":1,"term":1,"boot":7,"doubt":true}`)); err != nil {
			t.Fatal(err)
		}
		if now := r.seen.of("n3", self); now.position().Before(seen.position()) || now.Promised < seen.Promised {
			t.Errorf("%s had seen %+v of n3, and now %+v", id, seen, now)
		}
		if r.seen.inDoubt("n3") || r.seen.boot("n3").number == 7 {
			t.Errorf("%s believes the directory before", id)
		}
	}
	c.sameState()
}

// The first handshake with another directory of a node replaces what was seen of the one before.
func TestHandshakeTellsTheDirectory(t *testing.T) {
	s := &sightings{byID: make(map[string]sighting), boots: make(map[string]boot)}
	s.greeted("n2", "x")
	s.voted("n2", 4)
	s.greeted("n2", "x")
	if seen := s.of("n2", "x"); seen.Promised != 4 {
		t.Errorf("the vote is forgotten: %+v", seen)
	}
	s.greeted("n2", "y")
	s.voted("n2", 5)
	if seen := s.of("n2", "y"); seen.Promised != 5 {
		t.Errorf("the vote of the new directory is not remembered: %+v", seen)
	}
	if before := s.met("n2", sighting{Incarnation: "y"}, 1); before.Promised != 5 {
		t.Errorf("it is told %+v", before)
	}
}

package raftstore

import (
	"testing"

	"github.com/turnlog/turnlog/internal/codec"
)

// The record of a member that is added again while a leader looks which records are to be
// forgotten stays.
func TestRecordOfAMemberAddedMeanwhileStays(t *testing.T) {
	w := newWires()
	c := newCluster(t, 3, w.option, patient) // leadership does not move meanwhile
	defer c.killAll()                        // patient nodes do not hand over
	n1 := c.elect("n1")
	c.recordedAll()
	c.addrs["n4"] = freeAddr(t)
	n4 := c.start("n4", func(cfg *Config) { cfg.Join = true })
	lt := n1.writes.proposer.Current()
	old := &codec.Member{ID: "n4", Incarnation: "of a directory that is gone"}
	if _, err := n1.writes.propose(t.Context(), lt, old); err != nil {
		t.Fatal(err)
	}
	w.holdAnswers("n1", c.addrs["n3"], true) // n1 has to wait for what n3 says
	looked := make(chan bool)
	held := w.held("n1", c.addrs["n3"])
	go func() { looked <- n1.members.Record(t.Context(), lt) }()
	eventuallyTrue(t, "n1 waits for n3", func() bool { return w.held("n1", c.addrs["n3"]) > held })
	if _, err := n1.writes.propose(t.Context(), lt, &codec.Member{ID: "n4", Remove: true}); err != nil {
		t.Fatal(err)
	}
	c.change(func(leader *running) error { return leader.members.AddNode(t.Context(), "n4", c.addrs["n4"]) })
	w.holdAnswers("n1", c.addrs["n3"], false)
	<-looked
	if got, want := n1.data.Recorded("n4"), n4.data.Identity.Get().Incarnation; got != want {
		t.Errorf("n4 is recorded as %q, not %q", got, want)
	}
	c.leader()
}

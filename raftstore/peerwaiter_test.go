package raftstore

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// A node that comes back is sent what it missed when it is connected, however long
// it was away. Raft alone would let up to ten seconds pass.
func TestANodeThatWasAwayIsCaughtUpAtOnce(t *testing.T) {
	for _, how := range []string{"dead", "cut off"} {
		t.Run(how, func(t *testing.T) {
			bubble(t, func(t *testing.T, dir string) {
				c := newSimCluster(t, 2, dir, 3)
				defer c.abandon()
				c.recover()
				leader := c.leader()
				away := c.others(leader.id)[0]
				if how == "dead" {
					c.crash(away)
				} else {
					c.cut(away, c.others(away), true, true)
				}
				for range 30 { // Raft's pause has become as long as it gets
					time.Sleep(2 * time.Second)
					c.append("missed")
				}
				want, _ := leader.data.State.Applied()
				c.net.heal()
				c.revive()
				began := time.Now()
				c.within(time.Minute, "the node catches up", func() bool {
					have, _ := c.node(away).data.State.Applied()
					return have >= want
				})
				if took := time.Since(began); took > 3*time.Second {
					t.Errorf("that took %v", took)
				}
				c.close()
			})
		})
	}
}

// Replication to a node that there is no more reason to wait for fails: what is sent nevertheless would
// reach a node under its former address.
func TestNothingIsSentToANodeThatIsNoMember(t *testing.T) {
	c := newCluster(t, 3)
	leader, f := c.pair()
	args := raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax},
		PrevLogEntry: 1}
	send := func(id string) error { // its term is old, so the follower only answers
		return leader.trans.AppendEntries(raft.ServerID(id), raft.ServerAddress(c.addrs[f.id]), &args,
			&raft.AppendEntriesResponse{})
	}
	eventuallyTrue(t, "a member is sent what there is", func() bool { return send(f.id) == nil })
	if err := send("n9"); err == nil || !strings.Contains(err.Error(), "node n9 is not connected") {
		t.Errorf("to a node that is no member: %v", err)
	}
}

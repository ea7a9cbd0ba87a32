package raftstore

import (
	"slices"
	"time"

	"github.com/hashicorp/raft"
)

// slowTimers are those of a node whose clock runs at a fifth of the others' speed,
// or which is frozen now and then. Its lease outlasts their patience, so that only
// the confirmation of its reads keeps it from answering after another was elected.
func slowTimers() Consensus {
	return Consensus{Heartbeat: 3 * time.Second, Lease: 2400 * time.Millisecond}
}

// depose has a node lead, and cuts it off until another one leads. A moment later
// it is still sure of itself, if its timers are slow enough.
func (c *simCluster) depose(id string) {
	n := c.node(id)
	if n == nil {
		return
	}
	leads := func(n *simNode) bool { term, _ := n.lead.term(); return term != 0 }
	if !leads(n) {
		c.elect(n)
	}
	if !c.soon(time.Second, func() bool { return leads(n) }) {
		return // another fault is about
	}
	others := slices.DeleteFunc(slices.Clone(c.ids), func(o string) bool { return o == id })
	c.cut(id, others, true, true)
	c.soon(2*time.Second, func() bool {
		return slices.ContainsFunc(c.running(), func(o *simNode) bool { return o != n && leads(o) })
	})
	time.Sleep(time.Duration(c.rnd.IntN(1000)) * time.Millisecond)
}

// elect has a node stand for election, as one that a leader hands over to. One that
// has only just been started does not.
func (c *simCluster) elect(n *simNode) {
	if n.raft.Load() == nil {
		return
	}
	req := &raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}}
	_ = n.trans.TimeoutNow(raft.ServerID(n.id), raft.ServerAddress(n.id), req, &raft.TimeoutNowResponse{})
}

// soon reports whether a condition comes true within some fake time.
func (c *simCluster) soon(limit time.Duration, ok func() bool) bool {
	for end := time.Now().Add(limit); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

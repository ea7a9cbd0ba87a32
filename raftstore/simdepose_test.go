package raftstore

import (
	"slices"
	"time"

	"github.com/hashicorp/raft"
)

// slowTimers are those of a node whose clock runs at a fifth of the others' speed,
// or which is frozen now and then. Its lease outlasts their election timeouts, so that only
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
	leads := func(n *simNode) bool { term, _ := n.lead.Serves(); return term != 0 }
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

// swapMajority has a node with a slow log and half of the others accept writes; then
// the node loses its power, and it and the other half go on without the first. What
// was acknowledged, but was not durable on that node, is gone.
func (c *simCluster) swapMajority(id string) {
	n, others := c.node(id), c.others(id)
	if n == nil {
		return
	}
	with, without := others[:len(others)/2], others[len(others)/2:]
	for _, o := range without {
		c.cut(o, slices.Concat(with, []string{id}), true, true)
	}
	n.slow.set(1500 * time.Millisecond)
	time.Sleep(time.Duration(500+c.rnd.IntN(1000)) * time.Millisecond)
	c.crash(id)
	for _, o := range with {
		c.cut(o, slices.Concat(without, []string{id}), true, true)
	}
	for _, o := range without {
		c.cut(o, []string{id}, false, false)
	}
	c.revive()
	c.soon(3*time.Second, func() bool {
		l := c.leader()
		return l != nil && !slices.Contains(with, l.id)
	})
	time.Sleep(time.Duration(c.rnd.IntN(500)) * time.Millisecond)
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

// electAmidDelays has nodes stand for election, one soon after the other, while some
// kinds of messages take much longer than others.
func (c *simCluster) electAmidDelays(last time.Duration) {
	for end := time.Now().Add(last); time.Now().Before(end); {
		c.net.promptly()
		time.Sleep(time.Duration(c.rnd.IntN(600)) * time.Millisecond)
		id := c.net.delayKinds(c.rnd, c.ids)
		for range 2 + c.rnd.IntN(2) {
			if n := c.node(id); n != nil {
				go c.elect(n) // ends with the exchange
			}
			id = c.others(id)[c.rnd.IntN(len(c.ids)-1)]
			time.Sleep(time.Duration(1<<c.rnd.IntN(9)) * time.Millisecond)
		}
		time.Sleep(time.Duration(c.rnd.IntN(1000)) * time.Millisecond)
	}
}

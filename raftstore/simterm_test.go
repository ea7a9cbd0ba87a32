package raftstore

import (
	"testing"
	"time"
)

// A candidate whose votes are slow hears, from the leader of the next term, a
// heartbeat before anything else. Its late votes are of the term before: with them
// it must not lead in the next one, which has its leader.
//
// Raft takes votes in its main loop. Heartbeats that change term and role beside it
// break the promise that a term has one leader: see transport.SetHeartbeatHandler.
func TestOneLeaderPerTerm(t *testing.T) {
	for range 12 { // timers are random
		bubble(t, func(t *testing.T, dir string) {
			c := newSimCluster(t, 1, dir, 3)
			defer c.abandon()
			c.recover()
			late, next := c.node("n1"), c.node("n2")
			for tries := 0; c.leader() != next; tries++ { // votes may be withheld from a node that has just started
				if tries == 10 {
					t.Fatal("n2 does not win an election")
				}
				c.elect(next)
				c.soon(2*time.Second, func() bool { return c.leader() == next })
			}
			c.within(5*time.Second, "n1 has all of the log", func() bool {
				return late.raft.Load().LastIndex() == next.raft.Load().LastIndex()
			})
			for _, o := range c.others("n1") {
				c.net.set(o, "n1", func(l *line) {
					l.kinds = map[messageKind]time.Duration{
						{rpcVote, true}: 350 * time.Millisecond, {rpcVote, false}: 2 * time.Second,
						{rpcEntries, false}: 2 * time.Second,
					}
				})
			}
			_, before, _ := next.raft.State()
			c.elect(late)
			c.within(time.Second, "n2 takes part in the election of n1", func() bool {
				_, term, _ := next.raft.State()
				return term == before+1
			})
			c.elect(next)
			time.Sleep(2 * time.Second)
			if next.raft.Load().CurrentTerm() < before+2 {
				t.Fatalf("n2 is in term %d, there was no election after that of term %d",
					next.raft.Load().CurrentTerm(), before+1)
			}
			if c.net.safety.judge(t); t.Failed() {
				return
			}
			c.recover()
			c.sameState()
			c.close()
		})
	}
}

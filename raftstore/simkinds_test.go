package raftstore

import (
	"bytes"
	"math/rand/v2"
	"time"

	"github.com/turnlog/turnlog/internal/peer"
)

// messageKind is a kind of message between the Rafts of two nodes.
type messageKind struct {
	rpc    rpcKind
	answer bool
}

type rpcKind int

const (
	rpcHeartbeat rpcKind = iota
	rpcEntries
	rpcSnapshot
	rpcVote
	rpcPreVote
	rpcTimeoutNow
	rpcKinds
	rpcNone rpcKind = -1
)

// exchange is what the network knows about a connection: what it carries, and to
// which request the bytes in flight belong. Guarded by net.mu; one per pair of
// simConns.
type exchange struct {
	dialer  *simConn
	writes  int // of the dialer
	streams bool
	request rpcKind // that has no answer yet
}

// kindLocked says what a node is about to write, and has the judge see it.
func (c *simConn) kindLocked(b []byte) (messageKind, bool) {
	x := c.exchange
	if c != x.dialer {
		k := messageKind{x.request, true}
		x.request = rpcNone
		return k, k.rpc != rpcNone
	}
	x.writes++
	switch {
	case x.writes == 1: // the handshake's hello, see internal/peer/handshake.go
		x.streams = len(b) > 5 && peer.Purpose(b[5]) == peer.Stream
	case x.writes == 2 || !x.streams:
	case x.request == rpcNone:
		x.request = requestKind(b)
		c.net.safety.sent(c.from, b)
	}
	return messageKind{x.request, false}, x.request != rpcNone
}

// requestKind tells the kind of a request by its first byte, and a heartbeat by
// having neither an entry before it nor a commit index, as Raft does.
func requestKind(b []byte) rpcKind {
	kinds := []rpcKind{rpcEntries, rpcVote, rpcSnapshot, rpcTimeoutNow, rpcPreVote}
	if len(b) == 0 || int(b[0]) >= len(kinds) {
		return rpcNone
	}
	k := kinds[b[0]]
	if k == rpcEntries && bytes.Contains(b, []byte("PrevLogEntry\x00")) &&
		bytes.Contains(b, []byte("LeaderCommitIndex\x00")) {
		return rpcHeartbeat
	}
	return k
}

// delayKinds has messages take longer than others, by line and kind: a vote arrives
// after the election that came next, or a heartbeat before what made its sender the
// leader. To the node that it returns, nearly all is slow.
func (n *simNet) delayKinds(rnd *rand.Rand, ids []string) (slow string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	slow = ids[rnd.IntN(len(ids))]
	slowly := []time.Duration{20, 200, 400, 700}
	if rnd.IntN(2) == 0 {
		slowly = slowly[rnd.IntN(4):][:1]
	}
	quick := rnd.IntN(4) > 0 // heartbeats
	for _, from := range ids {
		for _, to := range ids {
			delays := []time.Duration{0, 0, 0, 50, 300, 800}
			if to == slow {
				delays = slowly
			}
			if from == to {
				continue // see elect
			}
			l := n.lineLocked(from, to)
			l.kinds = make(map[messageKind]time.Duration)
			for k := range rpcKinds {
				for _, answer := range []bool{false, true} {
					if k != rpcHeartbeat || !quick {
						l.kinds[messageKind{k, answer}] = delays[rnd.IntN(len(delays))] * time.Millisecond
					}
				}
			}
		}
	}
	return slow
}

// promptly has no message take longer than others.
func (n *simNet) promptly() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.lines {
		l.kinds = nil
	}
}

package raftstore

import (
	"context"
	"encoding/binary"
	"sync"
	"testing"
)

// ear notes the messages that a node hears, and answers with their number.
type ear struct {
	mu    sync.Mutex
	heard []string
}

func (e *ear) receive(message []byte) []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard = append(e.heard, string(message))
	return binary.AppendUvarint(nil, uint64(len(e.heard)))
}

func (e *ear) all() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.heard...)
}

// tell broadcasts a message and waits for the answers.
func tell(n *Node, message []byte) [][]byte {
	got := make(chan [][]byte, 1)
	n.casts.Broadcast(context.Background(), message, func(answers [][]byte) { got <- answers })
	return <-got
}

func connectedToAll(c *cluster, n *running) {
	eventuallyTrue(c.t, "the node is connected to all others", func() bool {
		others := n.raft.Others()
		for _, id := range others {
			if !n.net.Connected(id) {
				return false
			}
		}
		return len(others) == len(c.addrs)-1
	})
}

// Every node hears every message once, in the order of its sender; connections
// that break lose messages but disturb neither.
func TestBroadcast(t *testing.T) {
	w := newWires()
	c := newCluster(t, 3, w.option)
	c.leader()
	ears := make(map[string]*ear)
	for id, n := range c.nodes {
		ears[id] = new(ear)
		n.casts.Receive(ears[id].receive)
		connectedToAll(c, n)
	}
	if got := tell(c.nodes["n1"].Node, []byte("hello")); len(got) != 2 {
		t.Errorf("%d nodes answered, not 2", len(got))
	}
	const messages = 3000
	var wg sync.WaitGroup
	for _, from := range []string{"n1", "n2"} {
		wg.Go(func() {
			var under sync.WaitGroup
			for i := range messages {
				if from == "n2" && i%1000 == 500 {
					w.state("n2", c.addrs["n3"]).cut()
				}
				under.Add(1)
				payload := binary.BigEndian.AppendUint32([]byte(from), uint32(i))
				c.nodes[from].casts.Broadcast(context.Background(), payload, func([][]byte) { under.Done() })
				if i%100 == 0 {
					under.Wait()
				}
			}
			under.Wait()
		})
	}
	wg.Wait()
	for id, want := range map[string]map[string]bool{"n3": {"n1": true, "n2": false}, "n2": {"n1": true},
		"n1": {"n2": true}} {
		next, count := make(map[string]uint32), make(map[string]int)
		for _, m := range ears[id].all() {
			if len(m) != 6 {
				continue // hello
			}
			from, number := m[:2], binary.BigEndian.Uint32([]byte(m[2:]))
			if number < next[from] {
				t.Fatalf("%s heard message %d of %s after message %d", id, number, from, next[from]-1)
			}
			next[from] = number + 1
			count[from]++
		}
		for from, all := range want {
			if all && count[from] != messages || count[from] == 0 {
				t.Errorf("%s heard %d of %d messages of %s", id, count[from], messages, from)
			}
		}
	}
}

// cut breaks the connections; new ones are made.
func (s *wireState) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.Conn.Close()
	}
}

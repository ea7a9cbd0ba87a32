package raftstore

import (
	"context"
	"encoding/binary"
	"sync"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/peer"
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
	n.Broadcast(context.Background(), message, func(answers [][]byte) { got <- answers })
	return <-got
}

func connectedToAll(c *cluster, n *running) {
	eventuallyTrue(c.t, "the node is connected to all others", func() bool {
		others := n.others()
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
		n.Receive(ears[id].receive)
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
				c.nodes[from].Broadcast(context.Background(), binary.BigEndian.AppendUint32([]byte(from), uint32(i)), func([][]byte) { under.Done() })
				if i%100 == 0 {
					under.Wait()
				}
			}
			under.Wait()
		})
	}
	wg.Wait()
	for id, want := range map[string]map[string]bool{"n3": {"n1": true, "n2": false}, "n2": {"n1": true}, "n1": {"n2": true}} {
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

// A node that does not answer costs each message a bounded time and the sender a
// bounded memory.
func TestBroadcastToSilentNode(t *testing.T) {
	silent := make(map[int]func([]byte, error))
	var mu sync.Mutex
	sent := 0
	b := newBroadcasts(1, func(id string, payload []byte, done func([]byte, error)) {
		if id == "good" {
			done([]byte{fared, 'x'}, nil)
			return
		}
		mu.Lock()
		silent[sent] = done
		sent++
		mu.Unlock()
	}, func() []string { return []string{"good", "silent"} })
	b.bounds = broadcastBounds{wait: 20 * time.Millisecond, total: load{4, 1000}, each: load{10, 1000}}
	var ended sync.WaitGroup
	for range 30 {
		ended.Add(1)
		b.broadcast(context.Background(), []byte("message"), func(answers [][]byte) {
			defer ended.Done()
			if len(answers) != 1 || string(answers[0]) != "x" {
				t.Errorf("answers %q", answers)
			}
		})
		b.mu.Lock()
		if b.total.messages > 4 {
			t.Errorf("%d messages are under way", b.total.messages)
		}
		b.mu.Unlock()
	}
	ended.Wait()
	if sent != 10 || b.dropped != 20 {
		t.Errorf("%d messages were sent to the silent node, %d dropped", sent, b.dropped)
	}
	for _, done := range silent {
		done(nil, peer.ErrLost)
	}
	if len(b.behind) != 0 || b.total != (load{}) {
		t.Errorf("left: %v, %v", b.behind, b.total)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	b.total = load{4, 1}
	b.broadcast(ctx, nil, func(answers [][]byte) {
		if answers != nil {
			t.Error("answers to what was not sent")
		}
	})
}

// A message that comes after a later one was overtaken, and is dropped; those of a
// process that was started anew count from 1 again.
func TestBroadcastOvertaken(t *testing.T) {
	var e ear
	b := newBroadcasts(1, nil, nil)
	b.receive = e.receive
	hear := func(origin, number uint64, m string) {
		payload := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, origin), number)
		b.take(peer.Request{From: peer.Facts{NodeID: "n2"}, Payload: append(payload, m...)}, func(_ []byte, err error) {
			if err != nil {
				t.Error(err)
			}
		})
	}
	hear(7, 1, "a")
	hear(7, 3, "c")
	hear(7, 2, "late")
	hear(7, 3, "again")
	hear(8, 1, "d")
	if got := e.all(); len(got) != 3 || got[0]+got[1]+got[2] != "acd" {
		t.Errorf("heard %q", got)
	}
	b.take(peer.Request{Payload: []byte("short")}, func(_ []byte, err error) {
		if err == nil {
			t.Error("a malformed message is answered")
		}
	})
}

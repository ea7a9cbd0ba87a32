package raftstore

import (
	"context"
	"encoding/binary"
	"sync"
	"time"

	"github.com/turnlog/turnlog/internal/peer"
)

// broadcasts carries messages to all other nodes beside the log: each reaches a
// node at most once, and nothing is sent again.
type broadcasts struct {
	origin uint64 // of this process, whose messages are numbered from 1
	send   func(id string, payload []byte, done func([]byte, error))
	others func() []string
	bounds broadcastBounds

	order  sync.Mutex // held while a message is numbered and sent to everybody
	number uint64     // of the last message

	mu      sync.Mutex
	total   load            // of messages that wait for answers
	freed   chan struct{}   // closed when total gets smaller
	behind  map[string]load // by node: what it has not answered
	dropped uint64          // messages not sent to a node because it is behind

	hear    sync.Mutex
	receive func(message []byte) []byte
	heard   map[string]heard // by node: its last message
}

// load is what is under way.
type load struct{ messages, bytes int }

// heard names a message: a process and its number there.
type heard struct{ origin, number uint64 }

// broadcastBounds: beyond total, a sender waits. Beyond each, which a node can
// only reach by leaving messages unanswered for longer than wait, messages for
// it are dropped.
type broadcastBounds struct {
	wait        time.Duration // how long a message waits for answers
	total, each load
}

func newBroadcasts(origin uint64, send func(string, []byte, func([]byte, error)), others func() []string) *broadcasts {
	return &broadcasts{
		origin: origin, send: send, others: others,
		bounds: broadcastBounds{wait: 500 * time.Millisecond, total: load{1024, 16 << 20}, each: load{2048, 32 << 20}},
		freed:  make(chan struct{}), behind: make(map[string]load), heard: make(map[string]heard),
	}
}

func (l load) plus(bytes, messages int) load { return load{l.messages + messages, l.bytes + bytes} }

// exceeds reports whether one more message is too much. One alone never is.
func (l load) exceeds(limit load, bytes int) bool {
	return l.messages > 0 && (l.messages >= limit.messages || l.bytes+bytes > limit.bytes)
}

// Broadcast sends a message to every other node and returns when it is on its way,
// or when ctx ends; it waits while too much is. Messages that one goroutine
// broadcasts reach a node in that order, each once or not at all, also across
// connections that break: nothing is logged, and nothing sent again. done is
// called once, with the answers of the nodes that answered within half a second;
// it may be called before Broadcast returns, and must not block.
func (n *Node) Broadcast(ctx context.Context, message []byte, done func(answers [][]byte)) {
	n.casts.broadcast(ctx, message, done)
}

// Receive sets what takes the messages that other nodes broadcast and answers
// them. Calls come one at a time; they must not block. Until it is set, messages
// are answered with nothing.
func (n *Node) Receive(f func(message []byte) (answer []byte)) {
	n.casts.hear.Lock()
	defer n.casts.hear.Unlock()
	n.casts.receive = f
}

// Leader returns the leader's id, empty if none is known, and a channel that is
// closed when that may have changed.
func (n *Node) Leader() (id string, changed <-chan struct{}) { return n.lead.leader() }

// others are the other nodes of the configuration, voters or not.
func (n *Node) others() (ids []string) {
	for _, s := range n.configuration().Servers {
		if string(s.ID) != n.id {
			ids = append(ids, string(s.ID))
		}
	}
	return ids
}

func (b *broadcasts) broadcast(ctx context.Context, message []byte, done func([][]byte)) {
	nodes := b.others()
	if len(nodes) == 0 || !b.enter(ctx, len(message)) {
		done(nil)
		return
	}
	g := &gathering{waiting: len(nodes), done: func(answers [][]byte) {
		b.leave(len(message))
		done(answers)
	}}
	b.order.Lock()
	defer b.order.Unlock()
	b.number++
	payload := make([]byte, 0, 16+len(message))
	payload = binary.LittleEndian.AppendUint64(payload, b.origin)
	payload = binary.LittleEndian.AppendUint64(payload, b.number)
	payload = append(payload, message...)
	g.timer = time.AfterFunc(b.bounds.wait, g.end)
	for _, id := range nodes {
		if !b.enterNode(id, len(payload)) {
			g.take(nil, false)
			continue
		}
		b.send(id, payload, func(answer []byte, err error) {
			b.leaveNode(id, len(payload))
			content, f, bad := open(answer)
			g.take(content, err == nil && bad == nil && f == nil)
		})
	}
}

// enter waits for room. It reports whether ctx lasted as long.
func (b *broadcasts) enter(ctx context.Context, bytes int) bool {
	for {
		b.mu.Lock()
		freed, full := b.freed, b.total.exceeds(b.bounds.total, bytes)
		if !full {
			b.total = b.total.plus(bytes, 1)
		}
		b.mu.Unlock()
		if !full {
			return true
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return false
		}
	}
}

func (b *broadcasts) leave(bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total = b.total.plus(-bytes, -1)
	close(b.freed)
	b.freed = make(chan struct{})
}

func (b *broadcasts) enterNode(id string, bytes int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.behind[id].exceeds(b.bounds.each, bytes) {
		b.dropped++
		return false
	}
	b.behind[id] = b.behind[id].plus(bytes, 1)
	return true
}

func (b *broadcasts) leaveNode(id string, bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.behind[id] = b.behind[id].plus(-bytes, -1); b.behind[id].messages == 0 {
		delete(b.behind, id)
	}
}

// take answers a message of another node. One that comes after a later one, over
// a connection that was already replaced, is too late.
func (b *broadcasts) take(r peer.Request, reply func([]byte, error)) {
	if len(r.Payload) < 16 {
		reply(nil, errShort)
		return
	}
	this := heard{binary.LittleEndian.Uint64(r.Payload), binary.LittleEndian.Uint64(r.Payload[8:])}
	answer := []byte{fared}
	b.hear.Lock()
	last := b.heard[r.From.NodeID]
	if last.origin != this.origin || last.number < this.number {
		b.heard[r.From.NodeID] = this
		if b.receive != nil {
			answer = append(answer, b.receive(r.Payload[16:])...)
		}
	}
	b.hear.Unlock()
	reply(answer, nil)
}

// gathering gathers the answers to one message.
type gathering struct {
	timer *time.Timer
	done  func([][]byte)

	mu      sync.Mutex
	waiting int // nodes without an answer; 0: done was called
	answers [][]byte
}

func (g *gathering) take(answer []byte, ok bool) {
	g.mu.Lock()
	if g.waiting == 0 {
		g.mu.Unlock()
		return
	}
	if g.waiting--; ok {
		g.answers = append(g.answers, answer)
	}
	last := g.waiting == 0
	g.mu.Unlock()
	if last {
		g.timer.Stop()
		g.done(g.answers)
	}
}

// end takes what has come as all there is.
func (g *gathering) end() {
	g.mu.Lock()
	late := g.waiting > 0
	g.waiting = 0
	g.mu.Unlock()
	if late {
		g.done(g.answers)
	}
}

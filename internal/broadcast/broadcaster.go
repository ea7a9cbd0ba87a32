package broadcast

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"time"
)

// Broadcaster carries messages to all other nodes beside the log: each reaches a
// node at most once, and nothing is sent again. Its methods may be called by any goroutine.
type Broadcaster struct {
	origin uint64 // of this process, whose messages are numbered from 1
	send   func(id string, payload []byte, done func([]byte, error))
	others func() []string
	bounds bounds

	order  sync.Mutex // held while a message is numbered and sent to all
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

// load is what is in flight.
type load struct{ messages, bytes int }

// heard names a message: a process and its number there.
type heard struct{ origin, number uint64 }

// bounds: beyond total, a sender waits. Beyond each, which a node can
// only reach by leaving messages unanswered for longer than wait, messages for
// it are dropped.
type bounds struct {
	wait        time.Duration // how long a message waits for answers
	total, each load
}

// New returns a Broadcaster to the nodes that others names whenever a message is sent. origin
// is a random number, of this process alone. send sends a payload to a node and calls done
// once, with its answer or an error; it must not block.
func New(origin uint64, send func(string, []byte, func([]byte, error)), others func() []string) *Broadcaster {
	return &Broadcaster{
		origin: origin, send: send, others: others,
		bounds: bounds{wait: 500 * time.Millisecond, total: load{1024, 16 << 20}, each: load{2048, 32 << 20}},
		freed:  make(chan struct{}), behind: make(map[string]load), heard: make(map[string]heard),
	}
}

func (l load) plus(bytes, messages int) load { return load{l.messages + messages, l.bytes + bytes} }

// exceeds reports whether one more message is too much. One alone never is.
func (l load) exceeds(limit load, bytes int) bool {
	return l.messages > 0 && (l.messages >= limit.messages || l.bytes+bytes > limit.bytes)
}

// Broadcast sends a message to every other node and returns when it is on its way, or when ctx
// ends; it waits while too much is. Messages that one goroutine broadcasts reach a node in that order, each once
// or not at all, also across connections that break: nothing is logged, and nothing sent again. done is called
// once, with the answers of the nodes that answered within half a second; it may be called before Broadcast
// returns, and must not block.
func (b *Broadcaster) Broadcast(ctx context.Context, message []byte, done func([][]byte)) {
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
	payload := make([]byte, 0, header+len(message))
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
			g.take(answer, err == nil)
		})
	}
}

// enter waits for room. It reports whether ctx lasted as long.
func (b *Broadcaster) enter(ctx context.Context, bytes int) bool {
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

func (b *Broadcaster) leave(bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total = b.total.plus(-bytes, -1)
	close(b.freed)
	b.freed = make(chan struct{})
}

func (b *Broadcaster) enterNode(id string, bytes int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.behind[id].exceeds(b.bounds.each, bytes) {
		b.dropped++
		return false
	}
	b.behind[id] = b.behind[id].plus(bytes, 1)
	return true
}

func (b *Broadcaster) leaveNode(id string, bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.behind[id] = b.behind[id].plus(-bytes, -1); b.behind[id].messages == 0 {
		delete(b.behind, id)
	}
}

// Take answers a message of another node, and fails if it is malformed. One that comes after
// a later one, over a connection that was already replaced, is too late: its answer is empty.
func (b *Broadcaster) Take(from string, payload []byte) (answer []byte, err error) {
	if len(payload) < header {
		return nil, errMalformed
	}
	this := heard{binary.LittleEndian.Uint64(payload), binary.LittleEndian.Uint64(payload[8:])}
	b.hear.Lock()
	defer b.hear.Unlock()
	last := b.heard[from]
	if last.origin != this.origin || last.number < this.number {
		b.heard[from] = this
		if b.receive != nil {
			answer = b.receive(payload[header:])
		}
	}
	return answer, nil
}

var errMalformed = errors.New("broadcast: malformed message from another node")

// header is the size of what precedes a message: origin and number, 8 bytes each, little-endian.
const header = 16

// Receive sets what takes the messages of other nodes and answers them. Calls come one at
// a time; they must not block. Until it is set, messages are answered with nothing.
func (b *Broadcaster) Receive(f func(message []byte) (answer []byte)) {
	b.hear.Lock()
	defer b.hear.Unlock()
	b.receive = f
}

// Dropped returns how many messages were not sent to a node that leaves them unanswered.
func (b *Broadcaster) Dropped() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.dropped
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

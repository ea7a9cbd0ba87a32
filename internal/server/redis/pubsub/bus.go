package pubsub

import (
	"context"
	"encoding/binary"

	"github.com/turnlog/turnlog/internal/server/redis/command"
)

// Bus connects the hubs of all nodes of a cluster.
type Bus interface {
	// Broadcast sends a message to every other node and returns when it is on
	// its way, or when ctx ends. Messages that one goroutine broadcasts reach a
	// node in that order, each once or not at all. done is called once, by any
	// goroutine and perhaps before Broadcast returns, with the answers of the nodes
	// that answered within a bounded time. The message does not change any more.
	Broadcast(ctx context.Context, message []byte, done func(answers [][]byte))
	// Receive sets what answers the messages of other nodes. It is called for one
	// message at a time, and does not block.
	Receive(answer func(message []byte) []byte)
	// Leader returns the leader's node id, empty if none is known, and a channel
	// that is closed when that may have changed.
	Leader() (id string, changed <-chan struct{})
}

// What servers tell and ask one another: a byte, a scope, then texts, each with its
// length before it. Numbers are never used again.
const (
	tellMessage  byte = 1 // a channel and a payload; answered with the number of receivers
	whichChannel byte = 2 // that match a pattern; answered with their names
	howMany      byte = 3 // subscribers have these channels; answered with as many numbers
	whichPattern byte = 4 // has subscribers; answered with the patterns
)

func telling(m *message) []byte {
	b := make([]byte, 0, 16+len(m.scope)+len(m.channel)+len(m.payload))
	b = appendTexts(append(b, tellMessage), m.scope, m.channel)
	b = binary.AppendUvarint(b, uint64(len(m.payload)))
	return append(b, m.payload...)
}

func asking(what byte, scope string, texts ...string) []byte {
	return appendTexts(appendTexts([]byte{what}, scope), texts...)
}

func appendTexts(b []byte, texts ...string) []byte {
	for _, t := range texts {
		b = binary.AppendUvarint(b, uint64(len(t)))
		b = append(b, t...)
	}
	return b
}

// parts takes apart what another server has sent. What is malformed, or of a newer
// version, looks empty.
type parts struct{ rest []byte }

func (p *parts) number() uint64 {
	n, size := binary.Uvarint(p.rest)
	if size <= 0 {
		p.rest = nil
		return 0
	}
	p.rest = p.rest[size:]
	return n
}

func (p *parts) bytes() []byte {
	n := p.number()
	if n > uint64(len(p.rest)) {
		n = uint64(len(p.rest))
	}
	b := p.rest[:n]
	p.rest = p.rest[n:]
	return b
}

func (p *parts) texts() (ts []string) {
	for len(p.rest) > 0 {
		ts = append(ts, string(p.bytes()))
	}
	return ts
}

// Answer answers the hub of another node.
func (h *Hub) Answer(asked []byte) (b []byte) {
	if len(asked) == 0 {
		return nil
	}
	in := parts{rest: asked[1:]}
	scope := string(in.bytes())
	switch asked[0] {
	case tellMessage:
		m := &message{scope: scope, channel: string(in.bytes()), payload: in.bytes()}
		if m.channel == command.SwitchMaster {
			return binary.AppendUvarint(nil, 0) // a node of an older version let a client publish it
		}
		return binary.AppendUvarint(nil, uint64(h.publish(m)))
	case whichChannel:
		return appendTexts(nil, h.names(channelsOf, scope, string(in.bytes()))...)
	case whichPattern:
		return appendTexts(nil, h.names(patternsOf, scope, "*")...)
	case howMany:
		for _, n := range h.counts(scope, in.texts()) {
			b = binary.AppendUvarint(b, uint64(n))
		}
	}
	return b
}

// everywhere asks the other nodes and returns their answers.
func (h *Hub) everywhere(ctx context.Context, question []byte) [][]byte {
	got := make(chan [][]byte, 1)
	h.bus.Broadcast(ctx, question, func(answers [][]byte) { got <- answers })
	return <-got
}

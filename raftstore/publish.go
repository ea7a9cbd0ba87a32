package raftstore

import (
	"cmp"
	"context"
)

// Broadcast sends a message to every other node and returns when it is on its way,
// or when ctx ends; it waits while too much is. Messages that one goroutine
// broadcasts reach a node in that order, each once or not at all, also across
// connections that break: nothing is logged, and nothing sent again. done is
// called once, with the answers of the nodes that answered within half a second;
// it may be called before Broadcast returns, and must not block.
func (n *Node) Broadcast(ctx context.Context, message []byte, done func(answers [][]byte)) {
	n.casts.Send(ctx, message, done)
}

// Receive sets what takes the messages that other nodes broadcast and answers
// them. Calls come one at a time; they must not block. Until it is set, messages
// are answered with nothing.
func (n *Node) Receive(f func(message []byte) (answer []byte)) {
	n.casts.Receive(f)
}

// sendBroadcast sends a message that is broadcast to one node.
func (n *Node) sendBroadcast(id string, payload []byte, done func(answer []byte, err error)) {
	n.net.Send(id, kindCast, payload, func(answer []byte, err error) {
		content, f, bad := open(answer)
		if err == nil && f != nil {
			err = f.Err
		}
		done(content, cmp.Or(err, bad))
	})
}

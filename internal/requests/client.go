package requests

import (
	"cmp"
	"context"

	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/internal/propose"
)

// Client asks other nodes. It holds nothing of its own: any goroutine may use it.
type Client struct{ Net *peer.Network }

// call asks a node, and splits its answer: see open.
func (c Client) call(ctx context.Context, id string, kind peer.Kind, payload []byte) ([]byte, *propose.Failure, error) {
	answer, err := c.Net.Call(ctx, id, kind, payload)
	if err != nil {
		return nil, nil, err
	}
	return open(answer)
}

// Seen asks a node what it has seen of this one: see package rollback.
func (c Client) Seen(ctx context.Context, id string, question []byte) ([]byte, error) {
	content, f, err := c.call(ctx, id, kindSeen, question)
	if f != nil {
		return nil, f.Err
	}
	return content, err
}

// Cast sends a node a message that is broadcast: see package broadcast. It does not block.
func (c Client) Cast(id string, payload []byte, done func(answer []byte, err error)) {
	c.Net.Send(id, kindCast, payload, func(answer []byte, err error) {
		content, f, bad := open(answer)
		if err == nil && f != nil {
			err = f.Err
		}
		done(content, cmp.Or(err, bad))
	})
}

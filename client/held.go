package client

import (
	"context"
	"sync/atomic"
)

// held is what a request takes of Config.MaxInFlightBytes: until its caller has returned, and what was sent of it is
// answered or its connection has ended. A caller that gives up leaves the request with the connection.
type held struct {
	users   atomic.Int32
	release func()
}

// hold waits until r may be sent.
func (c *Client) hold(ctx context.Context, r *request) error {
	weight := min(r.weight(), c.cfg.MaxInFlightBytes)
	if err := c.inFlight.Acquire(ctx, weight); err != nil {
		return err
	}
	r.held = (&held{release: func() { c.inFlight.Release(weight) }}).take()
	return nil
}

// take adds a user, who drops it. A held that is nil stays so.
func (h *held) take() *held {
	if h != nil {
		h.users.Add(1)
	}
	return h
}

func (h *held) drop() {
	if h != nil && h.users.Add(-1) == 0 {
		h.release()
	}
}

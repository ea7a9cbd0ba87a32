package client

import "context"

// traceRequest returns the request that makes the next one on its connection part of the caller's trace, nil if
// there is none. Its answer is not read: a server that does not know the command carries out the next one all the
// same.
func (c *Client) traceRequest(ctx context.Context) *request {
	if c.cfg.Traceparent == nil {
		return nil
	}
	parent := c.cfg.Traceparent(ctx)
	if parent == "" {
		return nil
	}
	return newRequest(vTrace).strings(parent)
}

package client

import (
	"context"

	"github.com/turnlog/turnlog/turn"
)

// Cluster returns the cluster as the node that answers sees it.
func (c *Client) Cluster(ctx context.Context) (turn.Cluster, error) {
	v, err := c.do(ctx, newRequest(vCluster))
	if err != nil {
		return turn.Cluster{}, err
	}
	return decodeCluster(v)
}

package client

import (
	"context"
	"encoding/json"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// followLeader asks who leads when it is time to, in the background: requests
// go on to the node that is known meanwhile.
func (c *Client) followLeader() {
	if !c.router.askLeader() {
		return
	}
	c.closing.Lock()
	defer c.closing.Unlock()
	if c.ctx.Err() == nil {
		c.background.Go(c.findLeader)
	}
}

func (c *Client) findLeader() {
	ctx, cancel := context.WithTimeout(c.ctx, c.cfg.DialTimeout)
	defer cancel()
	n := c.router.pick()
	conn, err := n.get(ctx)
	if err != nil {
		return
	}
	v, err := conn.roundTrip(ctx, n, newRequest(vCluster))
	if err != nil {
		return
	}
	if cl, err := decodeCluster(v); err == nil {
		leader, addrs := respAddrs(cl)
		c.router.learn(leader, addrs)
	}
}

func respAddrs(cl turn.Cluster) (leader string, all []string) {
	for _, n := range cl.Nodes {
		if n.RESPAddr == "" {
			continue
		}
		all = append(all, n.RESPAddr)
		if n.ID == cl.Leader {
			leader = n.RESPAddr
		}
	}
	return leader, all
}

func decodeCluster(v resp.Value) (turn.Cluster, error) {
	var cl turn.Cluster
	if err := json.Unmarshal(v.Str, &cl); err != nil {
		return cl, malformed(err.Error())
	}
	return cl, nil
}

package target

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"syscall"

	"github.com/turnlog/turnlog/contract"
)

// leader asks until a node says who leads.
func (c *nodes) leader(ctx context.Context) (*node, error) {
	var found *node
	err := c.until(ctx, "a leader", func() bool {
		for _, n := range c.live {
			var cluster struct {
				Leader string `json:"leader"`
			}
			if n.request(ctx, http.MethodGet, "/v1/cluster", nil, &cluster) != nil {
				continue
			}
			for _, l := range c.live {
				if l.id == cluster.Leader {
					found = l
				}
			}
		}
		return found != nil
	})
	return found, err
}

// restarts are the ways in which the suite restarts its own cluster.
func (c *nodes) restarts() []contract.Restart {
	kinds := []contract.Restart{
		{Kind: contract.CanStop, Do: c.with(c.stopAll)},
		{Kind: contract.CanKill, Do: c.with(c.killFirst)},
		{Kind: contract.CanKillLead, Do: c.with(c.killLeader)},
		{Kind: contract.CanKillAll, Do: c.with(c.killAll)},
	}
	if len(c.live) > 1 {
		kinds = append([]contract.Restart{{Kind: contract.CanReplace, Do: c.with(c.replace)}}, kinds...)
	}
	return kinds
}

// with makes f a restart: nothing else happens to the nodes meanwhile.
func (c *nodes) with(f func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		return f(ctx)
	}
}

// stopAll ends every node as an operator would, one after another, and starts them
// again.
func (c *nodes) stopAll(ctx context.Context) error {
	for _, n := range c.live {
		n.end(syscall.SIGTERM)
	}
	return c.startAgain(ctx, c.live...)
}

func (c *nodes) startAgain(ctx context.Context, ns ...*node) error {
	for _, n := range ns {
		if err := c.start(n); err != nil {
			return err
		}
	}
	return c.ready(ctx)
}

// killFirst kills one node, whatever its role, and starts it again at once.
func (c *nodes) killFirst(ctx context.Context) error {
	c.live[0].end(syscall.SIGKILL)
	return c.startAgain(ctx, c.live[0])
}

func (c *nodes) killLeader(ctx context.Context) error {
	l, err := c.leader(ctx)
	if err != nil {
		return err
	}
	l.end(syscall.SIGKILL)
	if len(c.live) > 1 { // the others must do without it
		if err := c.until(ctx, "another leader", func() bool { return c.leadsWithout(ctx, l) }); err != nil {
			return err
		}
	}
	return c.startAgain(ctx, l)
}

func (c *nodes) leadsWithout(ctx context.Context, gone *node) bool {
	for _, n := range c.live {
		if n != gone && n.request(ctx, http.MethodGet, "/readyz", nil, nil) == nil {
			var cluster struct {
				Leader string `json:"leader"`
			}
			if n.request(ctx, http.MethodGet, "/v1/cluster", nil, &cluster) == nil && cluster.Leader != "" && cluster.Leader != gone.id {
				return true
			}
		}
	}
	return false
}

func (c *nodes) killAll(ctx context.Context) error {
	for _, n := range c.live {
		n.cmd.Process.Kill()
	}
	for _, n := range c.live {
		n.end(syscall.SIGKILL)
	}
	return c.startAgain(ctx, c.live...)
}

// replace loses a follower with its disk, and lets a new node take its place.
func (c *nodes) replace(ctx context.Context) error {
	leader, err := c.leader(ctx)
	if err != nil {
		return err
	}
	at := 0
	for c.live[at] == leader {
		at++
	}
	lost := c.live[at]
	lost.end(syscall.SIGKILL)
	if err := os.RemoveAll(filepath.Join(c.dir, lost.id)); err != nil {
		return err
	}
	if err := leader.request(ctx, http.MethodDelete, "/v1/cluster/nodes?id="+lost.id, nil, nil); err != nil {
		return err
	}
	fresh, err := c.newNode()
	if err != nil {
		return err
	}
	fresh.resp = lost.resp // where the clients look for it
	fresh.data = filepath.Join(c.dir, fresh.id)
	fresh.args = []string{"serve", "--node-id", fresh.id, "--data-dir", fresh.data,
		"--resp-addr", fresh.resp, "--http-addr", fresh.http, "--raft-addr", fresh.raft, "--join", "--initial-cluster", c.seed}
	if err := c.start(fresh); err != nil {
		return err
	}
	c.live[at] = fresh
	if err := c.until(ctx, fresh.id+" to be added", func() bool {
		member := map[string]string{"id": fresh.id, "raft_addr": fresh.raft}
		return leader.request(ctx, http.MethodPost, "/v1/cluster/nodes", member, nil) == nil
	}); err != nil {
		return err
	}
	return c.ready(ctx)
}

package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/turn"
)

// The cluster is changed over HTTP: admin asks the node at addr, and decodes the
// answer into out unless that is nil. Its errors are *turn.Error.
func admin(a *cli.App, ctx context.Context, addr, method, path string, body, out any) error {
	if addr == "" {
		return turn.Errorf(turn.Unavailable, "the node has not announced an HTTP address yet")
	}
	if a.TimeoutGiven() { // without it a node may take its time, as one that joins and is sent all data
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.Timeout)
		defer cancel()
	}
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(text)
	}
	sent := atomic.Bool{}
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	req, err := http.NewRequestWithContext(traced, method, "http://"+addr+path, content)
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := a.Send(req)
	if err != nil {
		var refused *turn.Error
		if errors.As(err, &refused) {
			return err
		}
		if sent.Load() { // whatever became of the connection since
			return fmt.Errorf("%w: %w",
				turn.Errorf(turn.Unknown, "%s did not answer; see `turnlog cluster status`", addr), err)
		}
		return fmt.Errorf("%w: %w", turn.Errorf(turn.Unavailable, "%s does not answer", addr), err)
	}
	defer res.Body.Close()
	if res.StatusCode >= 300 {
		return cli.ResponseError(res)
	}
	if out == nil {
		return nil
	}
	return json.NewDecoder(res.Body).Decode(out)
}

// leaderOf returns the leader.
func leaderOf(cl turn.Cluster) (turn.Node, error) {
	for _, n := range cl.Nodes {
		if n.ID == cl.Leader {
			return n, nil
		}
	}
	return turn.Node{}, turn.Errorf(turn.Unavailable, "the cluster has no leader at the moment")
}

// withLeader runs f with the HTTP address of the leader.
func withLeader(a *cli.App, f func(ctx context.Context, c *client.Client, leader turn.Node) error) error {
	return a.WithClient(func(ctx context.Context, c *client.Client) error {
		return atLeader(ctx, c, func(leader turn.Node) error { return f(ctx, c, leader) })
	})
}

// atLeader runs do with the leader of now.
func atLeader(ctx context.Context, c *client.Client, do func(leader turn.Node) error) error {
	cl, err := c.Cluster(ctx)
	if err != nil {
		return err
	}
	leader, err := leaderOf(cl)
	if err != nil {
		return err
	}
	return do(leader)
}

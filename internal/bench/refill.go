package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/turnlog/turnlog/internal/admintoken"
)

// Restart is what became of a node that was killed and started again, and of one
// that was replaced by an empty one, while others appended.
type Restart struct {
	Ready       time.Duration `json:"ready_ns"`           // from the start of the process until the node is ready
	Fill        time.Duration `json:"fill_ns"`            // from the request to join until the new node is ready
	MBPerSecond float64       `json:"fill_mb_per_second"` // of payload
	Calm        Latency       `json:"calm"`
	Restarting  Latency       `json:"restarting"`
	Filling     Latency       `json:"filling"`
}

// restart restarts one follower and replaces the other.
func (s *Setup) restart(ctx context.Context, c *Cluster, payload uint64) (*Restart, error) {
	leader, err := c.leader(ctx)
	if err != nil {
		return nil, err
	}
	followers := c.byRole(leader)[1:]
	load, err := s.others(ctx, c, "appending while a node is restarted, and another one replaced")
	if err != nil {
		return nil, err
	}
	r := new(Restart)
	calm, err := s.calm(ctx)
	var restarting, filling span
	if err == nil {
		restarting, err = during(func() (err error) {
			r.Ready, err = c.restartNode(ctx, followers[0])
			return err
		})
	}
	if err == nil {
		filling, err = during(func() (err error) {
			r.Fill, err = c.replaceNode(ctx, leader, followers[1])
			return err
		})
	}
	if ended := load.stop(); err == nil {
		err = ended
	}
	if err != nil {
		return nil, err
	}
	r.MBPerSecond = float64(payload) / 1e6 / r.Fill.Seconds()
	r.Calm, r.Restarting, r.Filling = latencyOf(load.samples.within(calm)), latencyOf(load.samples.within(restarting)), latencyOf(load.samples.within(filling))
	return r, nil
}

// restartNode kills a node and starts it again. It returns how long the start took.
func (c *Cluster) restartNode(ctx context.Context, n *node) (time.Duration, error) {
	n.kill()
	begun := time.Now()
	if err := c.start(n); err != nil {
		return 0, err
	}
	return c.untilReady(ctx, n, begun)
}

// replaceNode ends a node's membership, and has an empty one take its place. It
// returns how long that took to be filled and ready.
func (c *Cluster) replaceNode(ctx context.Context, leader, n *node) (time.Duration, error) {
	if err := leader.admin(ctx, "DELETE", "/v1/cluster/nodes?id="+url.QueryEscape(n.id), nil); err != nil {
		return 0, err
	}
	n.stop()
	if err := c.drop(n); err != nil {
		return 0, err
	}
	addrs, err := c.ports.Addrs(portsPerNode)
	if err != nil {
		return 0, err
	}
	fresh := c.newNode(n.id+"-again", addrs)
	fresh.args = append(fresh.args, "--join")
	if err := c.start(fresh); err != nil {
		return 0, err
	}
	err = until(ctx, c.processes(), func(ctx context.Context) error { return fresh.admin(ctx, "GET", "/livez", nil) })
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	if err := leader.admin(ctx, "POST", "/v1/cluster/nodes", map[string]string{"id": fresh.id, "raft_addr": fresh.raft}); err != nil {
		return 0, err
	}
	return c.untilReady(ctx, fresh, begun)
}

// readyTime is how long a node may take to be filled, however slowly.
const readyTime = 10 * time.Minute

// untilReady waits until a node serves every request, and returns how long that
// took since begun.
func (c *Cluster) untilReady(ctx context.Context, n *node, begun time.Time) (time.Duration, error) {
	err := untilWithin(ctx, readyTime, []*process{n.process}, func(ctx context.Context) error { return n.admin(ctx, "GET", "/readyz", nil) })
	if err != nil {
		return 0, fmt.Errorf("%s does not become ready: %w", n.id, err)
	}
	return time.Since(begun), nil
}

// admin asks a node to do something, and waits for that.
func (n *node) admin(ctx context.Context, method, path string, body any) error {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+n.http+path, content)
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	admintoken.Authorize(req, n.data)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode >= 300 {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 500))
		return fmt.Errorf("%s: %s %s: %s: %s", n.id, method, path, res.Status, bytes.TrimSpace(text))
	}
	return nil
}

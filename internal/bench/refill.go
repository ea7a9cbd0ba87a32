package bench

import (
	"context"
	"time"

	"github.com/turnlog/turnlog/internal/bench/measure"
	"github.com/turnlog/turnlog/internal/testcluster"
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
	all, err := c.byRole(ctx)
	if err != nil {
		return nil, err
	}
	load, err := s.others(ctx, c, "appending while a node is restarted, and another one replaced")
	if err != nil {
		return nil, err
	}
	r := new(Restart)
	calm, err := s.calm(ctx)
	var restarting, filling measure.Span
	if err == nil {
		restarting, err = during(func() (err error) {
			r.Ready, err = restartNode(ctx, all[1])
			return err
		})
	}
	if err == nil {
		filling, err = during(func() (err error) {
			r.Fill, err = c.replaceNode(ctx, all[0], all[2])
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
	r.Calm, r.Restarting, r.Filling = latencyOf(load.samples.Within(calm)), latencyOf(load.samples.Within(restarting)),
		latencyOf(load.samples.Within(filling))
	return r, nil
}

// restartNode kills a node and starts it again. It returns how long the start took.
func restartNode(ctx context.Context, n *testcluster.Node) (time.Duration, error) {
	if err := n.Kill(); err != nil {
		return 0, err
	}
	begun := time.Now()
	if err := n.Start(); err != nil {
		return 0, err
	}
	return untilReady(ctx, n, begun)
}

// replaceNode ends a node's membership, and has an empty one take its place. It
// returns how long that took to be filled and ready.
func (c *Cluster) replaceNode(ctx context.Context, leader, n *testcluster.Node) (time.Duration, error) {
	if err := leader.Remove(ctx, n); err != nil {
		return 0, err
	}
	n.Kill() // unless it has ended by itself, as it may now
	fresh, err := c.Replace(n)
	if err != nil {
		return 0, err
	}
	if err := fresh.Start(); err != nil {
		return 0, err
	}
	err = new(processes).until(ctx, func(ctx context.Context) error {
		return fresh.Call(ctx, "GET", "/livez", nil, nil)
	})
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	if err := leader.Add(ctx, fresh); err != nil {
		return 0, err
	}
	return untilReady(ctx, fresh, begun)
}

// untilReady waits until a node serves every request, and returns how long that
// took since begun.
func untilReady(ctx context.Context, n *testcluster.Node, begun time.Time) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, fillTime)
	defer cancel()
	err := n.WaitReady(ctx)
	return time.Since(begun), err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
	"github.com/turnlog/turnlog/internal/testcluster"
)

// upgrade gives one node after the other the newer version, as an operator does.
// In between, nodes of both versions lead. At last a node gets the older version
// back, which must understand what it finds, or say that it does not.
func upgrade(ctx context.Context, r *run) error {
	sleep(ctx, 2*time.Second)
	for i, n := range r.cluster.Nodes {
		r.rec.Fault(n.ID, "upgrade", true)
		if err := r.exchange(ctx, n, r.binary); err != nil {
			return err
		}
		r.rec.Fault(n.ID, "upgrade", false)
		for range 3 {
			if err := r.env.Once(ctx, "transfer", r.between(0.5, 1)); err != nil {
				return err
			}
		}
		if i == 0 {
			if err := r.env.Once(ctx, "kill-leader", time.Second); err != nil {
				return err
			}
		}
		if err := r.settle(ctx); err != nil {
			return err
		}
	}
	return errors.Join(r.downgrade(ctx, r.cluster.Nodes[0]), ctx.Err())
}

// exchange stops a node and starts it with another binary.
func (r *run) exchange(ctx context.Context, n *cluster.Node, binary string) error {
	if err := n.Stop(stopLimit); err != nil {
		return err
	}
	n.Use(binary)
	if err := n.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	return testcluster.Until(ctx, n.ID+" is ready with the other version", func() bool { return n.Ready(ctx) })
}

func (r *run) downgrade(ctx context.Context, n *cluster.Node) error {
	if err := n.Stop(stopLimit); err != nil {
		return err
	}
	n.Use(r.old)
	if err := n.Start(); err != nil {
		return err
	}
	n.Expect(true)
	limit, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	if err := testcluster.Until(limit, n.ID+" is ready or has refused",
		func() bool { return n.Ready(limit) || !n.Running() }); err != nil {
		return fmt.Errorf("after a downgrade: %w", err)
	}
	if n.Running() {
		r.report.Show("%s went back to the older version, and worked", n.ID)
		sleep(ctx, 2*time.Second)
		return r.exchange(ctx, n, r.binary)
	}
	if text := n.Output(); !strings.Contains(text, "NEWER_VERSION") && !strings.Contains(text, "newer") {
		return fmt.Errorf("after a downgrade %s stopped without telling that its data is of a newer version: %s",
			n.ID, text)
	}
	r.report.Show("%s refused to go back to the older version, and said why", n.ID)
	n.Use(r.binary)
	return n.Start()
}

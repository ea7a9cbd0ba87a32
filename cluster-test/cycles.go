package main

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
)

// What a node may have more than before. Memory holds caches, which fill.
const (
	moreGoroutines = 40
	moreFiles      = 40
	moreMemory     = 192 << 20
)

// roundTime is about how long a round takes.
const roundTime = 1200 * time.Millisecond

// cycles cuts and heals the network again and again, with clients that come and
// go, and compares what the nodes hold before and after.
func cycles(ctx context.Context, r *run) error {
	rounds := int(r.Time / roundTime)
	before, err := r.resources(ctx, min(rounds, 10))
	if err != nil {
		return err
	}
	after, err := r.resources(ctx, rounds)
	if err != nil {
		return err
	}
	for i, n := range r.cluster.Nodes {
		b, a := before[i], after[i]
		r.report.Show("%s before and after %d rounds: %d and %d goroutines, %d and %d open files, %d and %d MiB "+
			"resident",
			n.ID, rounds, b.Goroutines, a.Goroutines, b.Files, a.Files, b.Resident>>20, a.Resident>>20)
		if a.Goroutines > b.Goroutines+moreGoroutines || a.Files > b.Files+moreFiles ||
			a.Resident > b.Resident+moreMemory {
			r.report.Fail("%s grows: it had %+v and has %+v", n.ID, b, a)
		}
	}
	return ctx.Err()
}

// resources goes through some rounds, waits until all is well, and measures.
func (r *run) resources(ctx context.Context, rounds int) ([]cluster.Resources, error) {
	for range rounds {
		if err := r.round(ctx); err != nil {
			return nil, err
		}
	}
	if err := r.settle(ctx); err != nil {
		return nil, err
	}
	sleep(ctx, 5*time.Second) // what was given up may take its time limit to go
	var out []cluster.Resources
	for _, n := range r.cluster.Nodes {
		measured, err := n.Resources(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, measured)
	}
	return out, nil
}

const strangers = 30 // connections of a round that are broken off

func (r *run) round(ctx context.Context) error {
	name := []string{"partition-halves", "partition-leader", "one-way"}[r.env.Rand.IntN(3)]
	var conns []net.Conn
	for i := range strangers {
		n := r.cluster.Nodes[i%len(r.cluster.Nodes)]
		if c, err := net.Dial("tcp", []string{n.RESPAddr, n.HTTPAddr, n.RaftAddr}[i%3]); err == nil {
			c.Write([]byte("*2\r\n$4\r\nLLEN\r\n"))
			conns = append(conns, c)
		}
	}
	err := r.env.Once(ctx, name, r.between(0.05, 1))
	for _, c := range conns {
		err = errors.Join(err, c.Close())
	}
	sleep(ctx, r.between(0.05, 0.5))
	return err
}

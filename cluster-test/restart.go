package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/internal/testcluster"
	"github.com/turnlog/turnlog/turn"
)

const (
	million      = 1_000_000
	perCall      = 500 // messages of one append
	perSession   = 500
	loaders      = 8
	memoryBudget = "64MiB"
	readyLimit   = 3 * time.Second
)

// restartMillion fills a cluster with a million messages, and kills and starts
// each node.
func restartMillion(ctx context.Context, r *run) error {
	start := time.Now()
	if err := r.load(ctx); err != nil {
		return err
	}
	took := time.Since(start)
	r.report.Show("%d messages written in %v, %.0f a second", million, took.Round(time.Second), million/took.Seconds())
	r.showMemory("after the load")
	for _, n := range r.cluster.Nodes {
		if err := n.Kill(); err != nil {
			return err
		}
		start := time.Now()
		if err := n.Start(); err != nil {
			return err
		}
		limit, cancel := context.WithTimeout(ctx, time.Minute)
		err := testcluster.Until(limit, n.ID+" is ready", func() bool { return n.Ready(limit) })
		cancel()
		if err != nil {
			return err
		}
		took := time.Since(start)
		r.report.Show("%s, killed with kill -9, was ready %v after its start", n.ID, took.Round(time.Millisecond))
		if took > readyLimit {
			r.report.Fail("%s took %v to be ready; %v are allowed", n.ID, took, readyLimit)
		}
	}
	r.showMemory("after the restarts")
	if err := r.readBack(ctx); err != nil {
		return err
	}
	r.showMemory("after reading everything back")
	hashes, cancel := context.WithTimeout(ctx, hashLimit)
	defer cancel()
	hash, err := r.cluster.WaitHashes(hashes)
	if err == nil {
		r.report.Show("state hash %s at index %d on every node", hash.StateHash, hash.HashIndex)
	}
	return err
}

func millionKey(session int) string { return fmt.Sprintf("conversation-%06d", session) }

func millionMessage(session, i int) turn.NewMessage {
	data := fmt.Sprintf(`{"role":"user","content":"message %d of conversation %d, `+
		`as long as people write in one go to an agent"}`, i+1, session)
	return turn.NewMessage{ID: fmt.Sprintf("%d-%d", session, i), Data: []byte(data)}
}

// load writes the messages through all nodes at once.
func (r *run) load(ctx context.Context) error {
	sessions := make(chan int)
	errs := make(chan error, loaders)
	var all sync.WaitGroup
	for i := range loaders {
		all.Go(func() {
			n := r.cluster.Nodes[i%len(r.cluster.Nodes)]
			c, err := client.New(client.Config{Addrs: []string{n.RESPAddr}})
			if err != nil {
				errs <- err
				return
			}
			defer c.Close()
			var failed error
			for s := range sessions {
				if failed == nil {
					failed = loadSession(ctx, c, s)
				}
			}
			if failed != nil {
				errs <- failed
			}
		})
	}
	for s := range million / perSession {
		sessions <- s
	}
	close(sessions)
	all.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

func loadSession(ctx context.Context, c *client.Client, s int) error {
	for first := 0; first < perSession; first += perCall {
		var ms []turn.NewMessage
		for i := range perCall {
			ms = append(ms, millionMessage(s, first+i))
		}
		if _, err := c.Session(millionKey(s)).Append(ctx, ms...); err != nil {
			return err
		}
	}
	return nil
}

// readBack compares all messages with what was written, at the last node.
func (r *run) readBack(ctx context.Context) error {
	n := r.cluster.Nodes[len(r.cluster.Nodes)-1]
	c, err := client.New(client.Config{Addrs: []string{n.RESPAddr}})
	if err != nil {
		return err
	}
	defer c.Close()
	total := 0
	for s := range million / perSession {
		i := 0
		for m, err := range c.Session(millionKey(s)).All(ctx, 0) {
			if err != nil {
				return err
			}
			if want := millionMessage(s, i); string(want.Data) != string(m.Data) || want.ID != m.ID ||
				m.Seq != uint64(i+1) {
				return fmt.Errorf("%s: message %d is %s, id %s, seq %d", millionKey(s), i+1, m.Data, m.ID, m.Seq)
			}
			i++
		}
		total += i
	}
	if total != million {
		return fmt.Errorf("%d messages are there, %d were written", total, million)
	}
	r.report.Show("all %d messages read back through %s, byte for byte", total, n.ID)
	return nil
}

func (r *run) showMemory(when string) {
	for _, n := range r.cluster.Nodes {
		r.report.Show("%s %s: %d MiB resident (budget %s), %d MiB on disk", n.ID, when, n.ResidentBytes()>>20,
			memoryBudget, n.DiskBytes()>>20)
	}
}

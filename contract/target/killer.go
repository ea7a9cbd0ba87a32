package target

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// killer kills the leader of a cluster again and again.
type killer struct {
	nodes  *nodes
	cancel context.CancelFunc
	done   chan struct{} // closed when it has stopped
	kills  atomic.Int64
	err    error // of a node that did not come back; set before done is closed
}

// startKilling kills the leader, lets the others elect another one, starts it
// again, waits until all nodes are ready and for the given time, and so on until
// end is called.
func (c *nodes) startKilling(every time.Duration) *killer {
	ctx, cancel := context.WithCancel(context.Background())
	k := &killer{nodes: c, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(k.done)
		k.err = k.run(ctx, every)
	}()
	return k
}

func (k *killer) run(ctx context.Context, every time.Duration) error {
	kill := k.nodes.with(k.nodes.killLeader)
	for {
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return nil
		}
		if err := kill(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("the leader was killed: %w", err)
		}
		k.kills.Add(1)
	}
}

// end stops the killing.
func (k *killer) end() error {
	k.cancel()
	<-k.done
	return k.err
}

func (k *killer) note() string { return fmt.Sprintf("the leader was killed %d times", k.kills.Load()) }

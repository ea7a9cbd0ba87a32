package raftstore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// watchDisk watches how long the disk takes to sync the log.
func (n *Node) watchDisk(ctx context.Context) {
	s := &n.cfg.Storage
	tick := time.NewTicker(min(s.CheckEvery, s.SlowSync/4))
	defer tick.Stop()
	var handing atomic.Bool
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		took := n.logs.Appending()
		switch leading, _, _ := n.raftState(); {
		case took > s.StuckSync:
			n.fail(fmt.Errorf("raftstore: a write to the log has been under way for %v: the disk seems to hang",
				took.Round(time.Second)))
		case took > s.SlowSync && leading && handing.CompareAndSwap(false, true):
			n.log.Warn("the disk is slow, another node is to lead", "sync_takes", took)
			wg.Go(func() {
				defer handing.Store(false)
				ctx, cancel := context.WithTimeout(ctx, s.SlowSync)
				defer cancel()
				if err := n.forceTransfer(ctx); err != nil {
					n.log.Warn("no other node is made to lead", "error", err)
				}
			})
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

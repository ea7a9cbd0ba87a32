package raftstore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// diskSpace tells whether there is room to write.
type diskSpace struct {
	full atomic.Pointer[turn.Error] // why writes are refused; nil: they are not
}

func (d *diskSpace) refusal() *turn.Error { return d.full.Load() }

// note takes the free bytes. Writes are refused below the reserve, and allowed
// again from half as much above it, so that a disk at the edge does not flap.
func (d *diskSpace) note(free, reserve uint64) (changed bool) {
	full := d.refusal() != nil
	switch {
	case !full && free < reserve:
		d.full.Store(turn.Errorf(turn.ReadOnly, "%d MiB of disk space are left on the leader, %d are kept in reserve: free some space; reads work meanwhile",
			free>>20, reserve>>20))
	case full && free >= reserve+reserve/2:
		d.full.Store(nil)
	default:
		return false
	}
	return true
}

// watchDisk watches the free space, and how long the disk takes to sync the log.
func (n *Node) watchDisk(ctx context.Context) {
	s := &n.cfg.Storage
	tick := time.NewTicker(min(s.CheckEvery, s.SlowSync/4))
	defer tick.Stop()
	var handing atomic.Bool
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		n.checkSpace()
		took := n.logs.underway()
		switch leading, _, _ := n.raftState(); {
		case took > s.StuckSync:
			n.fail(fmt.Errorf("raftstore: a write to the log has been under way for %v: the disk seems to hang", took.Round(time.Second)))
		case took > s.SlowSync && leading && handing.CompareAndSwap(false, true):
			n.log.Warn("the disk is slow, another node is to lead", "sync_takes", took)
			wg.Go(func() {
				defer handing.Store(false)
				ctx, cancel := context.WithTimeout(ctx, s.SlowSync)
				defer cancel()
				if err := n.makeWay(ctx); err != nil {
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

func (n *Node) checkSpace() {
	free, err := n.cfg.Storage.FreeBytes(n.cfg.DataDir)
	if err != nil {
		n.log.Warn("cannot tell the free disk space", "dir", n.cfg.DataDir, "error", err)
		return
	}
	if n.space.note(free, n.cfg.Storage.ReserveBytes) {
		n.log.Warn("disk space", "free", free, "reserve", n.cfg.Storage.ReserveBytes, "writes_refused", n.space.refusal() != nil)
		n.callsWait()
	}
}

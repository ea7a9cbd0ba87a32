package raftstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

// compact takes a snapshot whenever the log has grown enough since the last one.
// A snapshot costs a flush of what changed, not a copy of the state. Right after a
// flush that is next to nothing, so then three quarters of the growth are enough.
// A node that is short of disk space compacts soon whatever was applied: only a
// flush removes from the disk what was deleted.
func (n *Node) compact(ctx context.Context) {
	tick := time.NewTicker(n.cfg.Storage.CheckEvery)
	defer tick.Stop()
	for {
		var enough int64
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			enough = n.cfg.Storage.CompactBytes
		case <-n.signals.flushed:
			enough = n.cfg.Storage.CompactBytes / 4 * 3
		}
		if _, halted := n.state.Damage(); halted {
			continue // what is not flushed is needed
		}
		if !n.compactForSpace(time.Now()) && n.logs.IndexForTail(enough) <= n.snaps.Position().Index+1 {
			continue
		}
		if err := n.Snapshot(ctx); err != nil && ctx.Err() == nil {
			n.log.Warn("cannot compact the log now", "error", err)
		}
	}
}

// compactForSpaceEvery is how often a node compacts that is short of disk space.
const compactForSpaceEvery = 3 * time.Second

func (n *Node) compactForSpace(now time.Time) bool {
	applied, _ := n.state.Applied()
	durable, _ := n.state.Durable()
	return n.space.Short() != nil && applied > durable && now.Sub(n.stats.snapshots.ended()) > compactForSpaceEvery
}

// Snapshot makes the state durable as of now and drops the log behind it but for
// a tail of Config.Storage.TailBytes, or more while snapshots are sent.
func (n *Node) Snapshot(ctx context.Context) error {
	r := n.raft.Load()
	if r == nil {
		return unavailable("the node is not running")
	}
	settings := r.ReloadableConfig()
	settings.TrailingLogs = 1 // so that what empties the log is never compaction
	if tail, last := n.logs.IndexForTail(n.tailBytes()), n.logs.LastDurable(); tail < last {
		settings.TrailingLogs = last - tail + 1
	}
	if err := r.ReloadConfig(settings); err != nil {
		return fmt.Errorf("raftstore: %w", err)
	}
	began := time.Now()
	err := await(ctx, eventually(r.Snapshot))
	if errors.Is(err, raft.ErrNothingNewToSnapshot) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("raftstore: take a snapshot: %w", err)
	}
	ended := time.Now()
	n.stats.snapshots.add(ended.Sub(began), ended)
	n.log.Info("snapshot taken", "index", n.snaps.Position().Index, "log_begins", n.logs.FirstDurable())
	return nil
}

// tailBytes is how much log stays behind a snapshot.
func (n *Node) tailBytes() int64 {
	usual := n.cfg.Storage.TailBytes
	if n.space.Short() != nil {
		return min(usual, 4<<20) // space is needed more
	}
	return n.snaps.Tail(usual)
}

// eventually makes a future of a call that blocks before it returns one.
func eventually[F raft.Future](call func() F) raft.Future {
	return lazyFuture(func() error { return call().Error() })
}

type lazyFuture func() error

func (f lazyFuture) Error() error { return f() }

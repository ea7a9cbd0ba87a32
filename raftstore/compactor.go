package raftstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/group"
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
		if _, halted := n.data.State.Damage(); halted {
			continue // what is not flushed is needed
		}
		if !n.compactForSpace(time.Now()) && n.data.Log.IndexForTail(enough) <= n.data.Snapshots.Position().Index+1 {
			continue
		}
		if err := n.Snapshot(ctx); err != nil && ctx.Err() == nil {
			n.log.Warn("cannot compact the log now", "error", err)
		}
	}
}

// compactForSpaceEvery is the shortest interval between compactions for disk space.
const compactForSpaceEvery = 3 * time.Second

// compactForSpace reports whether a snapshot would free disk space: by flushing changes, if the disk is short, or by
// letting the log be truncated.
func (n *Node) compactForSpace(now time.Time) bool {
	if !n.space.Saving() || now.Sub(n.stats.snapshots.ended()) <= compactForSpaceEvery {
		return false
	}
	applied, _ := n.data.State.Applied()
	durable, _ := n.data.State.Durable()
	worth := n.cfg.Storage.CompactBytes / 4
	if n.space.Short() != nil {
		if applied > durable {
			return true
		}
		worth = 0
	}
	return applied > n.data.Snapshots.Position().Index &&
		n.data.Log.IndexForTail(n.tailBytes()+worth) > n.data.Log.FirstDurable()
}

// Snapshot makes the present state durable, and drops the log before it, except for a tail of
// Config.Storage.TailBytes, or more while snapshots are sent.
func (n *Node) Snapshot(ctx context.Context) error {
	r := n.raft.Load()
	if r == nil {
		return unavailable("the node is not running")
	}
	settings := r.ReloadableConfig()
	settings.TrailingLogs = 1 // so that what empties the log is never compaction
	if tail, last := n.data.Log.IndexForTail(n.tailBytes()), n.data.Log.LastDurable(); tail < last {
		settings.TrailingLogs = last - tail + 1
	}
	if err := r.ReloadConfig(settings); err != nil {
		return fmt.Errorf("set how much of the log a snapshot keeps: %w", err)
	}
	began := time.Now()
	err := group.Await(ctx, eventually(r.Snapshot))
	if errors.Is(err, raft.ErrNothingNewToSnapshot) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("take a snapshot: %w", err)
	}
	ended := time.Now()
	n.stats.snapshots.add(ended.Sub(began), ended)
	n.log.Info("snapshot taken", "index", n.data.Snapshots.Position().Index, "log_begins", n.data.Log.FirstDurable())
	return nil
}

// leanTail returns how much log stays behind a snapshot, at most, on a disk that has better use for the space. Where
// that is a small part of a segment, a log of two can be cut to one.
func (n *Node) leanTail() int64 { return min(4<<20, n.cfg.Storage.SegmentBytes/4) }

// tailBytes is how much log stays behind a snapshot.
func (n *Node) tailBytes() int64 {
	usual := n.cfg.Storage.TailBytes
	if n.space.Saving() {
		usual = min(usual, n.leanTail())
	}
	if n.space.Short() != nil {
		return usual
	}
	return n.data.Snapshots.Tail(usual)
}

// eventually makes a future of a call that blocks before it returns one.
func eventually[F raft.Future](call func() F) raft.Future {
	return lazyFuture(func() error { return call().Error() })
}

type lazyFuture func() error

func (f lazyFuture) Error() error { return f() }

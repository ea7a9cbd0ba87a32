package raftstore

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// diskSpace tells whether there is room to write: on this node's disk, and on as
// many of the cluster's as it takes to commit.
//
// Operations that need space are rejected while a quorum of the voters has less
// than the reserve. What frees space is admitted nevertheless, from that reserve:
// a disk that is full of sessions can be emptied. The leader decides, by what the
// voters report; the others learn its decision and reject at once what it would.
type diskSpace struct {
	short     atomic.Pointer[turn.Error] // why this node's disk is to take no more; nil: it has room
	logFull   atomic.Bool                // the log has room for a few more entries only
	full      atomic.Pointer[turn.Error] // why operations that need space are rejected; nil: they are not
	exhausted atomic.Bool                // this node leads, and there is no room even for what frees space
	heard     atomic.Int64               // when full was learned from the leader, by the watch; 0: it was not
	free      atomic.Uint64              // bytes, as last seen
	watch     func() time.Duration       // monotonic time
}

func newDiskSpace() *diskSpace {
	began := time.Now()
	return &diskSpace{watch: func() time.Duration { return time.Since(began) }}
}

// Refusal returns why operations that need space are rejected, nil if they are not.
func (d *diskSpace) Refusal() *turn.Error { return d.full.Load() }

// rejects returns why op is rejected, nil if it is not.
func (d *diskSpace) rejects(op turn.Op) *turn.Error {
	why := d.Refusal()
	if why == nil || freesSpace(op) && !d.exhausted.Load() {
		return nil
	}
	return why
}

// Admits reports whether a command takes place in spite of a refusal, because it frees space.
func (d *diskSpace) Admits(c codec.Command) bool { return !d.exhausted.Load() && freesEncoded(c) }

func freesEncoded(c codec.Command) bool {
	op, err := codec.DecodeOp(c.Op)
	return err == nil && freesSpace(op)
}

// freesSpace reports whether an operation is admitted on a full disk.
func freesSpace(op turn.Op) bool {
	if _, ok := op.(*codec.Checksum); ok {
		return true // it changes nothing
	}
	return turn.Frees(op)
}

// Hear takes the leader's decision; nil: it admits everything.
func (d *diskSpace) Hear(why *turn.Error) {
	d.full.Store(why)
	d.heard.Store(int64(max(d.watch(), 1)))
}

// forget drops a decision of a leader that was not repeated for so long.
func (d *diskSpace) forget(age time.Duration) {
	if at := d.heard.Load(); at == 0 || d.watch()-time.Duration(at) > age {
		d.full.Store(nil)
	}
}

// watchSpace watches this node's disk and, while it leads, those of the others.
func (n *Node) watchSpace(ctx context.Context) {
	tick := time.NewTicker(n.cfg.Storage.CheckEvery)
	defer tick.Stop()
	v := survey{node: n}
	for {
		n.checkSpace()
		before := n.space.Refusal()
		if n.leading() {
			v.decide(ctx)
		} else {
			n.space.exhausted.Store(false)
			n.space.forget(5 * (n.cfg.Storage.CheckEvery + statusTime))
		}
		if after := n.space.Refusal(); (before != nil) != (after != nil) {
			n.log.Warn("disk space", "free", n.space.free.Load(), "reserve", n.cfg.Storage.ReserveBytes,
				"writes_rejected", after != nil)
			n.writes.wake()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// reserveFiles is how many inodes are kept in reserve.
const reserveFiles = 256

// checkSpace looks at this node's disk. It is short of space below the reserve, and
// no longer from half as much above it, so that a disk at the edge does not flap.
// Changes that are yet to be flushed are space that is taken already.
func (n *Node) checkSpace() {
	s := &n.cfg.Storage
	free, err := s.FreeBytes(n.cfg.DataDir)
	if err != nil {
		n.log.Warn("cannot tell the free disk space", "dir", n.cfg.DataDir, "error", err)
		return
	}
	files, bounded, err := s.FreeFiles(n.cfg.DataDir)
	if err != nil {
		n.log.Warn("cannot tell the free inodes", "dir", n.cfg.DataDir, "error", err)
		return
	}
	n.space.free.Store(free)
	n.space.logFull.Store(n.logIsFull(free))
	left := free - min(free, n.state.Unflushed())
	reserve, inodes := s.ReserveBytes, uint64(reserveFiles)
	if n.space.short.Load() != nil {
		reserve, inodes = reserve+reserve/2, inodes+inodes/2
	}
	switch {
	case left < reserve:
		n.space.short.Store(turn.Errorf(turn.ReadOnly,
			"%d MiB of disk space are left on node %s, %d MiB are kept in reserve: %s",
			left>>20, n.id, s.ReserveBytes>>20, onFullDisk))
	case bounded && files < inodes:
		n.space.short.Store(turn.Errorf(turn.ReadOnly,
			"%d inodes are left on the disk of node %s, %d are kept in reserve: %s",
			files, n.id, reserveFiles, onFullDisk))
	default:
		n.space.short.Store(nil)
	}
	n.state.ShortOfSpace(n.space.short.Load() != nil, left)
}

const onFullDisk = "delete or trim sessions, or free some space; that and reads work meanwhile"

// logIsFull reports whether the log has room for a few more entries only, and the
// disk has none for another segment.
func (n *Node) logIsFull(free uint64) bool {
	if n.cfg.LogEngine == "boltdb" {
		return free < 8<<20 // it has nothing in reserve
	}
	return free < uint64(n.cfg.Storage.SegmentBytes) && n.logs.Room() < n.logMargin()
}

// logMargin is how much room, in bytes, the log keeps for what must not fail.
func (n *Node) logMargin() int64 { return min(1<<20, n.cfg.Storage.SegmentBytes/16) }

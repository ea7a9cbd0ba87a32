package raftstore

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/signal"
	"github.com/turnlog/turnlog/turn"
)

// Backup streams a dump of the state as of one log entry, which includes everything that any node has
// acknowledged before the call. It reads this node's own state, at the rate of snapshots, while
// writes go on. There is one at a time: as long as the stream is open, the state file does not reuse the
// space of what changes. The error is a *turn.Error.
//
// If the stream ends early, the error of its last read says why: damage was found, the state file has
// grown so far that the node's writes would soon have to wait for the end of the stream, or the leader
// has sent the node another state.
func (n *Node) Backup(ctx context.Context) (index uint64, size int64, stream io.ReadCloser, err error) {
	if !n.backups.Try() {
		return 0, 0, nil, turn.Errorf(turn.Overloaded, "another backup of this node is being taken; wait for its end, "+
			"or take one of another node")
	}
	replaced := n.data.State.Replaced()
	err = roomToGrow(n.data.State.MapLeft(), 2*backupGrowth)
	var d *fsm.Dump
	if err == nil {
		d, err = n.currentDump(ctx)
	}
	if err != nil {
		n.backups.Leave()
		return 0, 0, nil, turn.AsError(err)
	}
	n.log.Info("a backup begins", "index", d.Index, "bytes", d.Size)
	began, size, index := time.Now(), d.Size, d.Index // the stream closes d
	return index, size, newBackupStream(n.data.Snapshots.StreamAside(d), n.data.State.MapLeft, replaced, func() {
		n.backups.Leave()
		n.log.Info("a backup ended", "index", index, "duration", time.Since(began))
	}), nil
}

// backupGrowth is how much further the state file must be able to grow while a backup is read. At the end of what
// is mapped of it, a flush waits for all readers, and writes wait for the flush.
const backupGrowth = 2 << 30

// roomToGrow is an error if the state file can grow by less than least.
func roomToGrow(left, least int64) error {
	if left >= least {
		return nil
	}
	return unavailable("the state file of this node can grow by %d MiB while it is read, which is too little for a "+
		"backup: take it of another node, or restart this one, which makes room for twice the file", left>>20)
}

// backupStream is a stream of a dump that ends, whether it is read or not, when the state is replaced: the end of the
// replacement waits for all readers of the old state, and a client may take nothing for long.
type backupStream struct {
	dump     io.ReadCloser   // its Close may be called while it is read, and more than once
	left     func() int64    // by which the state file can grow
	replaced <-chan struct{} // closed when the state is another one than that of the dump
	closed   chan struct{}   // by end
	end      func()          // does what follows the end, once
	watched  chan struct{}   // closed when watch is over
}

// newBackupStream returns a stream of a dump, which was taken of the state that replaced is about. Close ends what it
// starts.
func newBackupStream(dump io.ReadCloser, left func() int64, replaced <-chan struct{}, ended func()) *backupStream {
	s := &backupStream{dump: dump, left: left, replaced: replaced, closed: make(chan struct{}),
		watched: make(chan struct{})}
	s.end = sync.OnceFunc(func() {
		close(s.closed)
		<-s.watched
		ended()
	})
	go s.watch()
	return s
}

func (s *backupStream) watch() {
	defer close(s.watched)
	select {
	case <-s.replaced:
		_ = s.dump.Close()
	case <-s.closed:
	}
}

func (s *backupStream) Read(p []byte) (int, error) {
	if err := roomToGrow(s.left(), backupGrowth); err != nil {
		return 0, err
	}
	n, err := s.dump.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && signal.Closed(s.replaced) {
		err = unavailable("the leader has sent this node a newer state while the backup was read; take it again")
	}
	return n, err
}

func (s *backupStream) Close() error {
	err := s.dump.Close()
	s.end()
	return err
}

// currentDump returns the state with everything that was acknowledged before the call.
func (n *Node) currentDump(ctx context.Context) (*fsm.Dump, error) {
	index, err := n.readIndex(ctx)
	if err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeout(ctx, n.cfg.Calls.OutcomeWait)
	defer cancel()
	if err := n.data.State.WaitApplied(wait, index); err != nil {
		return nil, unavailable("this node has not applied log entry %d yet (%v); back up another node", index, err)
	}
	if err := n.data.State.Flush(ctx); err != nil {
		return nil, unavailable("the state cannot be flushed: %v", err)
	}
	d, err := n.data.State.Dump()
	if err != nil {
		return nil, unavailable("%v; back up another node", err)
	}
	if d.Index < index {
		_ = d.Close()
		return nil, unavailable("the flushed state ends at log entry %d, the backup is to include entry %d", d.Index,
			index)
	}
	return d, nil
}

// readIndex returns a read index as soon as there is a leader to get one from.
func (n *Node) readIndex(ctx context.Context) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Calls.LeaderWait)
	defer cancel()
	for {
		if index, ok := n.reads.Index(ctx); ok {
			return index, nil
		}
		if _, changed := n.lead.Leader(); !signal.Wait(ctx, changed, 20*time.Millisecond) {
			return 0, unavailable("no leader confirms what a backup has to include within %v: of a cluster without a "+
				"majority, `turnlog recover` keeps what there is", n.cfg.Calls.LeaderWait)
		}
	}
}

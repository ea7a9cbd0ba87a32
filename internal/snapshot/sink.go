package snapshot

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/descriptors"
)

// createLimit is how long Create waits for a file descriptor. Raft's main loop waits meanwhile, and
// with it heartbeats and votes: so it is below a leader's lease, 400 ms.
const createLimit = 200 * time.Millisecond

// Create implements raft.SnapshotStore.
func (s *Store) Create(_ raft.SnapshotVersion, index, term uint64, c raft.Configuration, configIndex uint64,
	_ raft.Transport) (raft.SnapshotSink, error) {
	f, err := descriptors.OpenWithin(createLimit, func() (*os.File, error) { return os.CreateTemp(s.dir, "*.tmp") })
	if err != nil {
		return nil, err
	}
	return &Sink{
		store: s, file: f,
		marker: marker{Index: index, Term: term, Servers: c.Servers, ConfigAt: configIndex, Received: true},
	}, nil
}

// Sink is a raft.SnapshotSink. It receives a snapshot from the leader or, after KeepLocal, stands
// for the file of the state machine.
type Sink struct {
	store  *Store
	marker marker
	file   *os.File
	closed bool
}

var errForeignSink = errors.New("snapshot: a snapshot can be kept only in the node's own store")

// KeepLocal says that the state is in the state machine's file, durable up to an entry. It
// fails if that is before the snapshot's, or if the sink is of another store.
func KeepLocal(sink raft.SnapshotSink, durable uint64) error {
	k, ok := sink.(*Sink)
	if !ok {
		return errForeignSink
	}
	if durable < k.marker.Index {
		return fmt.Errorf("snapshot: the flushed state ends at log entry %d, the snapshot is to be at %d", durable,
			k.marker.Index)
	}
	k.marker.Received = false
	return nil
}

// ID implements raft.SnapshotSink.
func (k *Sink) ID() string { return k.marker.meta(0).ID }

// Write takes a part of what a leader sends.
func (k *Sink) Write(p []byte) (int, error) {
	if k.store.passed(k.marker.Index) {
		return 0, fmt.Errorf("snapshot: the snapshot at log entry %d is older than what this node has applied",
			k.marker.Index)
	}
	n, err := k.file.Write(p)
	k.marker.Size += int64(n)
	return n, err
}

// Cancel implements raft.SnapshotSink.
func (k *Sink) Cancel() error {
	if k.closed {
		return nil
	}
	k.closed = true
	return errors.Join(k.file.Close(), os.Remove(k.file.Name()))
}

// Close makes the snapshot the newest one, durably.
func (k *Sink) Close() error {
	if k.closed {
		return nil
	}
	if !k.marker.Received {
		if err := k.Cancel(); err != nil {
			return err
		}
		return k.store.keep(k.marker)
	}
	k.closed = true
	if err := errors.Join(k.file.Sync(), k.file.Close()); err != nil {
		return errors.Join(err, os.Remove(k.file.Name()))
	}
	return k.store.keepReceived(k.marker, k.file.Name())
}

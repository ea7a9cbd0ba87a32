package raftstore

import (
	"errors"
	"fmt"
	"os"

	"github.com/hashicorp/raft"
)

// Create implements raft.SnapshotStore.
func (s *snapshotStore) Create(_ raft.SnapshotVersion, index, term uint64, c raft.Configuration, configIndex uint64, _ raft.Transport) (raft.SnapshotSink, error) {
	f, err := os.CreateTemp(s.dir, "*.tmp")
	if err != nil {
		return nil, err
	}
	return &snapshotSink{
		store: s, file: f,
		marker: marker{Index: index, Term: term, Servers: c.Servers, ConfigAt: configIndex, Received: true},
	}, nil
}

// snapshotSink receives a snapshot from the leader, or, after local, stands for
// the state machine's own file.
type snapshotSink struct {
	store  *snapshotStore
	marker marker
	file   *os.File
	closed bool
}

// local says that the state is in the state machine's file, durably.
func (k *snapshotSink) local() { k.marker.Received = false }

// ID implements raft.SnapshotSink.
func (k *snapshotSink) ID() string { return k.marker.meta(0).ID }

// Write takes a part of what a leader sends.
func (k *snapshotSink) Write(p []byte) (int, error) {
	if k.store.passed(k.marker.Index) {
		return 0, fmt.Errorf("raftstore: the snapshot at log entry %d is older than what this node has applied", k.marker.Index)
	}
	n, err := k.file.Write(p)
	k.marker.Size += int64(n)
	return n, err
}

// Cancel implements raft.SnapshotSink.
func (k *snapshotSink) Cancel() error {
	if k.closed {
		return nil
	}
	k.closed = true
	return errors.Join(k.file.Close(), os.Remove(k.file.Name()))
}

// Close makes the snapshot the newest one, durably.
func (k *snapshotSink) Close() error {
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

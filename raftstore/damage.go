package raftstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/turnlog/turnlog/turn"
	"github.com/turnlog/turnlog/wal"
)

// reseed is what to do with a node whose data is not what it wrote.
const reseed = "keep a copy of the data directory, remove the node from the cluster, and add it again with an empty one"

// beyondRepair adds to an error that tells of damage, or may, what to do about it.
func beyondRepair(err error) error {
	corrupt := turn.Is(err, turn.Corrupt)
	for _, damage := range []error{bolterrors.ErrInvalid, bolterrors.ErrChecksum, bolterrors.ErrVersionMismatch} {
		corrupt = corrupt || errors.Is(err, damage)
	}
	switch {
	case corrupt:
		return fmt.Errorf("%w; %s", err, reseed)
	case turn.Is(err, turn.Newer):
		// Not every version number has a checksum.
		return fmt.Errorf("%w; if no newer turnlog has run here, that is damage: %s", err, reseed)
	}
	return err
}

// checkTermKept refuses a directory that has an identity but no file with term
// and vote: that is made before the identity, and a node which forgot its vote
// could give it twice.
func checkTermKept(dir string) error {
	path := filepath.Join(dir, stableName)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, identityName)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("raftstore: %s is missing, and with it what this node voted for; %s", path, reseed)
}

// checkLogKept refuses a directory of a cluster's member that has no log: a node
// which forgot what it acknowledged could help to lose it.
func (n *Node) checkLogKept(dir string) error {
	path := filepath.Join(dir, walName)
	var disk wal.FS = wal.Disk{}
	if n.cfg.LogDisk != nil {
		disk = n.cfg.LogDisk
	}
	_, err := disk.List(path)
	if n.cfg.LogEngine == "boltdb" {
		path = filepath.Join(dir, boltName)
		_, err = os.Stat(path)
	}
	if !errors.Is(err, fs.ErrNotExist) || n.ident.get().ClusterID == "" {
		return nil
	}
	return fmt.Errorf("raftstore: %s is missing, and with it what this node acknowledged; %s", path, reseed)
}

// checkTermReached refuses a log whose last entry is of a higher term than the
// node is known to have been in: it has forgotten that, and perhaps its vote.
func (n *Node) checkTermReached() error {
	last := n.logs.engine.LastIndex()
	if last == 0 {
		return nil
	}
	var entry raft.Log
	if err := n.logs.GetLog(last, &entry); err != nil {
		return err
	}
	if promised := n.stable.Promised(); entry.Term > promised {
		return fmt.Errorf("raftstore: the log has an entry of term %d, %s knows of term %d only; %s",
			entry.Term, filepath.Join(n.cfg.DataDir, stableName), promised, reseed)
	}
	return nil
}

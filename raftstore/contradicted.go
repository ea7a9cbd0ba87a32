package raftstore

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/descriptors"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/smallfile"
)

// contradictedName is the file of a data directory that says why its node stopped, and may not
// start again: it and a leader had other entries of one term, or the leader asked for entries to be
// cut that the node knows to be committed. A leader of a later term that continues the other entries
// would not send them again, and after a restart the node knows only those to be committed that its
// state on disk includes, so that nothing would show the difference.
const contradictedName = "contradicted"

// ifAllContradicted is what to do if nodes that stopped so are missing for a majority.
const ifAllContradicted = "if no leader is elected any more, since too many nodes have stopped like this, choose one " +
	"directory " +
	"whose entries are to stay, delete the file " + contradictedName +
	" in it and in those that have the same entries, and start these; " +
	"remove the other nodes, and add them again with empty data directories. If those are no majority, begin with " +
	"empty data " +
	"directories and import the last export"

// checkSame stops the node, for good, if a leader has other entries of a term than its log.
func (n *Node) checkSame(sent []*raft.Log) error {
	err := n.logs.CheckSame(sent)
	if err == nil {
		return nil
	}
	err = n.keepContradiction(err)
	n.fail(err)
	return err
}

// haltLog stops the node on an error of its log, for good if that tells of a contradiction. It does
// not return.
func (n *Node) haltLog(err error) {
	if errors.Is(err, raftlog.ErrCommittedCut) {
		err = n.keepContradiction(err)
	}
	n.halt(err)
}

// keepContradiction writes down why the node may not start again, and returns it with advice.
func (n *Node) keepContradiction(err error) error {
	err = fmt.Errorf("%w; %s", err, ifAllContradicted)
	kept := smallfile.Replace(filepath.Join(n.cfg.DataDir, contradictedName), []byte(err.Error()))
	if kept != nil {
		err = errors.Join(err, fmt.Errorf("do not start the node again: "+
			"it would go on, since why it stopped could not be written down: %w", kept))
	}
	return err
}

// checkNotContradicted refuses a directory whose node stopped for good.
func checkNotContradicted(dir string) error {
	path := filepath.Join(dir, contradictedName)
	why, err := descriptors.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("raftstore: read why the node stopped: %w", err)
	}
	return fmt.Errorf("raftstore: the node stopped for good, says %s: %s", path, why)
}

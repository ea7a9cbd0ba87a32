package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/descriptors"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/smallfile"
)

// ContradictedName is the file of a data directory that says why its node stopped, and may not
// start again: it and a leader had other entries of one term, or the leader asked for entries to be
// cut that the node knows to be committed. A leader of a later term that continues the other entries
// would not send them again, and after a restart the node knows only those to be committed that its
// state on disk includes, so that nothing would show the difference.
const ContradictedName = "contradicted"

// ifAllContradicted is what to do if nodes that stopped so are missing for a majority.
const ifAllContradicted = "if no leader is elected any more, since too many nodes have stopped like this, choose one " +
	"directory " +
	"whose entries are to stay, delete the file " + ContradictedName +
	" in it and in those that have the same entries, and start these; " +
	"remove the other nodes, and add them again with empty data directories. If those are no majority, begin with " +
	"empty data " +
	"directories and import the last export"

// CheckSame stops the node, for good, if a leader has other entries of a term than its log.
func (d *Dir) CheckSame(sent []*raft.Log) error {
	err := d.Log.CheckSame(sent)
	if err == nil {
		return nil
	}
	return d.failContradicted(err)
}

// haltLog stops the node on an error of its log, for good if that tells of a contradiction. It does
// not return.
func (d *Dir) haltLog(err error) {
	if errors.Is(err, raftlog.ErrCommittedCut) {
		err = d.failContradicted(err)
	}
	d.cfg.Failure.Halt(err)
}

// failContradicted stops the node, and then writes down why it may not start again: it serves nothing
// while its disk takes long, or hangs. It returns why, with advice.
func (d *Dir) failContradicted(why error) error {
	why = fmt.Errorf("%w; %s", why, ifAllContradicted)
	k := &d.keeping
	k.mu.Lock()
	defer k.mu.Unlock()
	d.cfg.Failure.Fail(why)
	if err := smallfile.Replace(filepath.Join(d.cfg.Path, ContradictedName), []byte(why.Error())); err != nil {
		k.failed = unkept(err)
	}
	return why
}

// keeping is the writing down of why the node may not start again.
type keeping struct {
	mu     sync.Mutex // held from before the node fails until it is over
	failed error      // why it could not be written down
}

// Unkept waits until why the node may not start again is written down, if it is being, and returns why it could
// not be.
func (d *Dir) Unkept() error {
	k := &d.keeping
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.failed
}

// UnkeptNow is Unkept for a node that waits no longer.
func (d *Dir) UnkeptNow() error {
	k := &d.keeping
	if !k.mu.TryLock() {
		return unkept(errors.New("the disk hangs"))
	}
	defer k.mu.Unlock()
	return k.failed
}

func unkept(why error) error {
	return fmt.Errorf("do not start the node again: it would go on, since why it stopped could not be written down: %w",
		why)
}

// checkNotContradicted refuses a directory whose node stopped for good.
func checkNotContradicted(dir string) error {
	path := filepath.Join(dir, ContradictedName)
	why, err := descriptors.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("read why the node stopped: %w", err)
	}
	return fmt.Errorf("the node stopped for good, says %s: %s", path, why)
}

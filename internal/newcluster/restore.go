package newcluster

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/fsm/statedump"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/datadir"
	"github.com/turnlog/turnlog/internal/identity"
	"github.com/turnlog/turnlog/turn"
)

// Config says where a cluster begins with the state of another one: with one node, to which others
// are added as to any.
type Config struct {
	DataDir string // of its first node: empty, or not there yet
	NodeID  string
	Addr    string       // on which the node listens for others; it may change later
	Engine  string       // of its log: "wal", the default, or "boltdb"
	Origin  Origin       // what is kept of where the state came from
	Logger  *slog.Logger // nil: discard

	// Seeded and Sealed are for tests: called when all is on disk, and before the directory counts as finished.
	Seeded, Sealed func() error
}

// Restore makes a data directory for the first node of a new cluster, with the state of a dump. The
// cluster has an id of its own, and the node is a new one: nodes of the cluster that the dump is of
// have nothing to do with it, and what clients knew of that cluster's future does not hold in this one
// (see statedump.Renew).
//
// If root calls it, the directory and what is in it belong to the directory's owner; new directories, and those above
// that are new, too, belong to the owner of the nearest one that is not.
//
// check is called when all is on disk, with what the dump held, and says whether it was what it should be. After
// an error or a crash the directory is unfinished: no node starts with it.
func Restore(c Config, dump io.Reader, check func(statedump.Content) error) (Origin, error) {
	owner, err := ownerOf(c.DataDir)
	if err != nil {
		return Origin{}, err
	}
	if err := datadir.Claim(c.DataDir); err != nil {
		return Origin{}, err
	}
	var held statedump.Content
	log, failure := nodeLog(c.Logger, c.NodeID)
	err = failure.Aside(func() error {
		if err := owner.giveDirectories(); err != nil {
			return err
		}
		d, err := datadir.Open(datadir.Config{Path: c.DataDir, NodeID: c.NodeID, Engine: c.Engine,
			State: stateConfig(), Failure: failure, Logger: log})
		if err != nil {
			return err
		}
		held, err = c.seed(d, dump)
		return errors.Join(err, d.Close())
	})
	for _, step := range []func() error{
		func() error { return owner.giveAll(c.DataDir) }, c.Seeded, func() error { return check(held) }, c.Sealed,
		func() error { return datadir.Finish(c.DataDir) },
	} {
		if err == nil && step != nil {
			err = step()
		}
	}
	if err != nil {
		return Origin{}, fmt.Errorf("%w; the directory %s is unfinished, and no node starts with it: empty it, and "+
			"try again", err, c.DataDir)
	}
	return c.Origin, nil
}

// nodeLog returns the logger of a node, and what tells why its disk failed.
func nodeLog(log *slog.Logger, id string) (*slog.Logger, *datadir.Failure) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	log = log.With("node", id)
	return log, datadir.NewFailure(log)
}

func stateConfig() fsm.Config { return fsm.Config{ReadBytes: turn.DefaultLimits().ReadBytes} }

// seed makes the files of a node that has the state of a dump, and an empty log behind it. It returns what the
// dump held.
func (c *Config) seed(d *datadir.Dir, dump io.Reader) (held statedump.Content, err error) {
	id := identity.RandomID()
	self := codec.Member{ID: c.NodeID, Incarnation: d.Identity.Get().Incarnation}
	held, err = takeDump(d.State, dump, statedump.Renewal{ClusterID: id, Members: []codec.Member{self}})
	if err != nil {
		return held, err
	}
	index, term := d.State.Durable()
	if index == 0 {
		return held, errors.New("the dump is of a state to which no entry was applied")
	}
	if err := d.BeginAfter(index, term, c.Addr); err != nil {
		return held, err
	}
	if err := d.Identity.LearnCluster(id); err != nil {
		return held, err
	}
	o := &c.Origin
	o.Index, o.Term, o.NewClusterID = index, term, id
	return held, o.write(c.DataDir)
}

// takeDump replaces the state by a renewed dump, and returns what that held.
func takeDump(state *fsm.Machine, dump io.Reader, renewal statedump.Renewal) (held statedump.Content, err error) {
	r, w := io.Pipe()
	renewed := make(chan error, 1)
	go func() { // ends when the dump does, or it is not read on
		var err error
		held, err = statedump.Renew(w, dump, renewal)
		_ = w.CloseWithError(cmp.Or(err, io.ErrUnexpectedEOF)) // of what comes behind its end
		renewed <- err
	}()
	restored := state.Restore(r)
	_ = r.CloseWithError(cmp.Or(restored, io.ErrClosedPipe))
	err = cmp.Or(unlessClosed(<-renewed), restored)
	return held, err
}

// unlessClosed returns the error of a writer, unless it is only that its reader failed.
func unlessClosed(err error) error {
	if errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}

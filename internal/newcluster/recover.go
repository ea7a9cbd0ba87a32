package newcluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/turnlog/turnlog/fsm/statedump"
	"github.com/turnlog/turnlog/internal/datadir"
	"github.com/turnlog/turnlog/internal/identity"
	"github.com/turnlog/turnlog/internal/raftlog"
)

// A cluster that has lost a majority of its nodes for good elects no leader any more. A recovery makes a
// new cluster of what one of the others has: its state, and all that its log has behind that.
//
// It is not the old cluster made to go on. That one decided by majorities: what a lost majority
// acknowledged without this node is not here, and lost nodes that came back after all would go on from
// what they have. So the result is another cluster, with a directory, an id and incarnations of its own, as a
// restore makes it; and the old directory is marked, so that its node does not start again.
//
// The log may end with entries of which this node does not know whether they were committed. They are
// kept: an entry that was committed may be among them, and to drop it would lose what was acknowledged.
// So a write whose client was not answered may have taken place.

// Survivor is what a node has of a cluster, as its data directory tells while the node does not run.
type Survivor struct {
	Dir, NodeID, ClusterID string
	// End is where its log ends. Of several nodes, the one with the highest term has most of what was
	// acknowledged; of those with the same term, the one with the highest index.
	End     raftlog.Position
	Durable uint64   // the last log entry that its state file includes
	Servers []string // ids of the members, by the last configuration that it has
	Lost    string   // what its log has lost; empty: nothing that it knows of
	LeftFor string   // why no recovery may use it again; empty: it may

	open    *datadir.Dir
	failure *datadir.Failure
	engine  string
}

// Survey opens the data directory of a node that does not run, as a start of it would, and tells what
// it has. The directory is locked until Close.
func Survey(path string, log *slog.Logger) (*Survivor, error) {
	id, err := identity.NodeOf(path)
	if err != nil {
		return nil, err
	}
	if err := datadir.CheckFinished(path); err != nil {
		return nil, err
	}
	s := &Survivor{Dir: path, NodeID: id, engine: datadir.EngineOf(path)}
	log, s.failure = nodeLog(log, id)
	err = s.failure.Aside(func() error {
		s.open, err = datadir.Open(datadir.Config{Path: path, NodeID: id, Engine: s.engine, State: stateConfig(),
			Failure: s.failure, Logger: log})
		if err != nil {
			return err
		}
		return s.look()
	})
	if err == nil {
		return s, nil
	}
	if s.open != nil {
		err = errors.Join(err, s.open.Close())
	}
	return nil, err
}

// look looks what is in the directory.
func (s *Survivor) look() error {
	d := s.open
	if err := d.Settle(); err != nil {
		return err
	}
	if damage, _ := d.State.Damage(); damage != nil {
		return fmt.Errorf("the state in %s is damaged: recover another node that is left, or restore a "+
			"backup: %w", s.Dir, damage)
	}
	var err error
	if s.End, err = d.Log.End(); err != nil {
		return err
	}
	s.Durable, _ = d.State.Durable()
	if lost, missing := d.Mark.Lost(); missing {
		s.Lost = lost.String()
	}
	s.ClusterID = d.Identity.Get().ClusterID
	for _, server := range d.LastServers() {
		s.Servers = append(s.Servers, string(server.ID))
	}
	s.LeftFor, err = datadir.LeftFor(s.Dir)
	return err
}

// Close gives the directory up.
func (s *Survivor) Close() error { return s.open.Close() }

// Recover makes a new cluster, as Restore does, of all that the node has. From then on the old
// directory is left: its node does not start any more. It is marked last, when all that is to be written is: what
// fails before can be repeated as it was, what fails later with a directory that is left already.
func (s *Survivor) Recover(ctx context.Context, c Config) (Origin, error) {
	ctx, cancel := context.WithCancel(ctx)
	flushed := make(chan error, 1)
	go func() { flushed <- s.open.State.Run(ctx) }() // a log can hold more than memory
	err := s.failure.Aside(func() error { return s.open.Replay(ctx) })
	cancel()
	if ended := <-flushed; err == nil && ended != nil && !errors.Is(ended, context.Canceled) {
		err = ended
	}
	if err != nil {
		return Origin{}, err
	}
	d, err := s.open.State.Dump()
	if err != nil {
		return Origin{}, err
	}
	dump := s.open.Snapshots.StreamAside(d)
	defer dump.Close()
	c.Engine = cmp.Or(c.Engine, s.engine)
	c.Origin = Origin{By: "recover", At: time.Now().UTC(), Of: s.Dir, ClusterID: s.ClusterID, Lost: s.Lost}
	left := false
	origin, err := Restore(c, dump, func(statedump.Content) error {
		err := datadir.Leave(s.Dir, c.DataDir)
		left = err == nil
		return err
	})
	if err != nil && left {
		err = fmt.Errorf("%w with --again, since %s is marked as recovered already; its data are whole", err, s.Dir)
	}
	return origin, err
}

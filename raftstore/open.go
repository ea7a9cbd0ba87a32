package raftstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"path/filepath"
	"syscall"
	"time"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/ballot"
	"github.com/turnlog/turnlog/internal/broadcast"
	"github.com/turnlog/turnlog/internal/identity"
	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/snapshot"
	"github.com/turnlog/turnlog/internal/vfs"
	"github.com/turnlog/turnlog/internal/vote"
)

// Open opens the files of a node and binds its address. It starts nothing. The
// Node must be given to Run, or to Close.
func Open(cfg Config) (_ *Node, err error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	n := &Node{
		cfg: cfg, id: cfg.NodeID, log: cfg.Logger.With("node", cfg.NodeID),
		lead:      newKnownLeader(cfg.NodeID),
		consensus: consensus{raft: group{self: cfg.NodeID}},
		backups:   newGate(),
		signals:   newSignals(),
		lifecycle: lifecycle{checked: make(chan struct{}), failure: newFailure()},
	}
	n.cfg.Logger = n.log
	n.members = newMemberChanges(n)
	defer func() {
		if err != nil {
			_ = n.Close()
		}
	}()
	if err := mayStart(cfg.DataDir); err != nil {
		return nil, err
	}
	if err := n.openFiles(); err != nil {
		return nil, err
	}
	// A recovery that had the directory locked may have marked it meanwhile.
	if err := mayStart(cfg.DataDir); err != nil {
		return nil, err
	}
	n.tellOrigin()
	if err := n.listen(); err != nil {
		return nil, err
	}
	n.wire()
	return n, nil
}

// mayStart returns why no node may start from a directory, nil if one may.
func mayStart(dir string) error { return errors.Join(checkFinished(dir), checkNotLeft(dir)) }

func (n *Node) openFiles() (err error) {
	dir := n.cfg.DataDir
	if err := (vfs.OS{}).MkdirAll(dir); err != nil {
		return err
	}
	if err := errors.Join(checkNotContradicted(dir), checkReleased(dir)); err != nil {
		return err
	}
	disk := n.logDisk()
	if err := disk.MkdirAll(dir); err != nil {
		return err
	}
	if err := syncEntry(disk, dir); err != nil {
		return err
	}
	// The term comes first: the directory is locked with it.
	if n.stable, err = vote.Open(dir, vote.Config{
		Disk: disk, Halt: n.halt, Member: func() (bool, error) { return identity.Exists(dir) }, Logger: n.log,
	}); err != nil {
		return beyondRepair(err)
	}
	if n.ident, err = identity.Open(dir, n.id, reseed, n.log); err != nil {
		return err
	}
	if err := n.openLog(dir); err != nil {
		return err
	}
	state := n.cfg.State
	state.Dir, state.Logger, state.ReadBytes = dir, n.log, n.cfg.Limits.ReadBytes
	told := state.OnFlush
	state.OnFlush = func(s fsm.FlushStats) {
		n.stats.flushed(s, time.Now())
		n.signals.flushed.Notify()
		if told != nil {
			told(s)
		}
	}
	n.repairer = n.newRepairer()
	if n.state, err = n.repairer.Open(state); err != nil {
		return beyondRepair(err)
	}
	if members := len(n.state.Members()); n.cfg.Peers.Closed != "" && members > 1 {
		return fmt.Errorf("raftstore: this node is one of %d, and %s", members, n.cfg.Peers.Closed)
	}
	n.snaps, err = snapshot.Open(filepath.Join(dir, snapshotsName), snapshot.Config{
		State: n.state, Rate: n.cfg.Storage.SnapshotRate, Clock: n.cfg.Clock, Advice: reseed, Logger: n.log,
	})
	if err != nil {
		return err
	}
	return n.damagedState(n.snaps.Check()) // before anything is read of it
}

// syncEntry makes the directory's entry in its parent durable although it exists: what was
// copied there or unpacked is often not synced, and with the entry a power cut would take all that
// the node writes. A parent that this process may not read is left alone: systemd makes such a one,
// and syncs it. So is one whose file system cannot sync directories, or is read-only, as that below a volume.
func syncEntry(disk vfs.FS, dir string) error {
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = disk.SyncDir(filepath.Dir(dir))
	}
	if err == nil || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EROFS) {
		return nil
	}
	return fmt.Errorf("raftstore: sync the entry of the data directory %s in its parent: %w; nothing was started",
		dir, err)
}

// openLog opens the log, and what proves that it is whole.
func (n *Node) openLog(dir string) (err error) {
	if err := n.checkEngine(dir); err != nil {
		return err
	}
	if n.cfg.Log.Engine != "boltdb" && n.cfg.Log.Disk == nil {
		if err := (raftlog.Replacement{Dir: dir}).Undo(); err != nil {
			return err
		}
	}
	if err := n.checkLogKept(dir); err != nil {
		return err
	}
	if n.mark, err = raftlog.OpenHighWater(n.logDisk(), dir, n.ident.Get().Incarnation, n.halt, n.log); err != nil {
		return err
	}
	e, err := n.openEngine(dir)
	if err != nil {
		if e, err = n.renewLog(dir, err); err != nil {
			return err
		}
	}
	if n.cfg.Log.wrap != nil {
		e = n.cfg.Log.wrap(e)
	}
	n.logs = raftlog.New(e, raftlog.Config{
		Mark: n.mark, Fail: n.fail, Halt: n.haltLog,
		Known: n.known, Placed: func() { n.writes.proposer.Placed() }, Leads: n.raft.leads,
	})
	n.ballot = ballot.New(ballot.Config{
		Mark: n.mark, Clock: time.Now, Configuration: n.raft.latest, Same: n.checkSame,
	})
	return n.openSeen(dir)
}

const (
	boltName      = "log.db"
	snapshotsName = "snapshots"
)

func (n *Node) listen() (err error) {
	if n.cfg.Peers.Listener == nil {
		if n.cfg.Peers.Listener, err = net.Listen("tcp", n.cfg.Peers.Addr); err != nil {
			return fmt.Errorf("raftstore: listen for other nodes: %w", err)
		}
	}
	n.cfg.Peers.Advertise = cmp.Or(n.cfg.Peers.Advertise, n.cfg.Peers.Listener.Addr().String())
	return nil
}

// wire connects the parts with each other.
func (n *Node) wire() {
	n.policy = n.newPolicy()
	n.net = peer.New(peer.Config{
		Listener: n.cfg.Peers.Listener, Advertise: n.cfg.Peers.Advertise,
		Self: n.facts, Admit: n.admit, Refused: n.policy.Rejected, Connected: n.connected,
		Say:   func(m peer.Meeting) []byte { return n.detector.Say(m) },
		Begin: func(ctx context.Context, m peer.Meeting) error { return n.detector.Begin(ctx, m) },
		Serve: n.serve, Ordered: n.ordered,
		Transfer: func(ctx context.Context, c net.Conn, to peer.Facts) { n.repairer.Send(ctx, c, to.NodeID) },
		Dial:     n.cfg.Peers.Dial, TLS: n.cfg.Peers.TLS, Secret: n.cfg.Peers.Secret,
		Closed: n.cfg.Peers.Closed, Logger: n.log,
		Bounds: peer.Bounds{Greetings: n.cfg.Peers.Greetings, Conns: n.cfg.Peers.Conns},
		// a node that starts may have to be dialed to hear what this one has seen: see rollback.Detector
		Timing: peer.Timing{RetryMax: n.cfg.Consensus.askTime() / 2},
	})
	n.waiter = newPeerWaiter(n.raft.replicates, n.net.Connected)
	n.space = n.newSpace()
	n.writes = n.newWrites()
	n.reads = n.newReader()
	n.detector = n.newDetector()
	n.casts = broadcast.New(rand.Uint64(), n.sendBroadcast, n.raft.others)
}

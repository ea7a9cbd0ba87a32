package datadir

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/snapshot"
)

// Blank reports whether the node has no history. A term of 1 without a log is
// what a Bootstrap leaves that was cut short.
func (d *Dir) Blank() bool {
	return d.Log.LastDurable() == 0 && d.Snapshots.Position().Index == 0 && d.Mark.Position() == (raftlog.Position{}) &&
		d.Vote.Promised() <= 1 &&
		d.Identity.Get().ClusterID == ""
}

// Bootstrap gives a Blank directory a configuration as its first log entry.
func (d *Dir) Bootstrap(c raft.Configuration) error {
	d.Vote.SetTerm(1)
	return d.Log.StoreLog(&raft.Log{Index: 1, Term: 1, Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(c)})
}

// BeginAfter makes the state, which is durable up to an entry, the snapshot behind which the log begins, with this
// node, at addr, as the only member.
func (d *Dir) BeginAfter(index, term uint64, addr string) error {
	d.Vote.SetTerm(term)
	alone := raft.Configuration{Servers: []raft.Server{{ID: raft.ServerID(d.cfg.NodeID),
		Address: raft.ServerAddress(addr), Suffrage: raft.Voter}}}
	sink, err := d.Snapshots.Create(raft.SnapshotVersionMax, index, term, alone, index, nil)
	if err != nil {
		return err
	}
	if err := snapshot.KeepLocal(sink, index); err != nil {
		return errors.Join(err, sink.Cancel())
	}
	if err := sink.Close(); err != nil {
		return err
	}
	return d.Log.FitToSnapshot(index, term)
}

// Replay applies what the log has behind the state, committed or not, and flushes it. Raft must not run.
func (d *Dir) Replay(ctx context.Context) error {
	index, _ := d.State.Applied()
	for index++; index <= d.Log.LastDurable(); index++ {
		var l raft.Log
		if err := d.Log.Entry(index, &l); err != nil {
			return fmt.Errorf("read log entry %d: %w", index, err)
		}
		switch l.Type {
		case raft.LogCommand:
			d.State.Apply(l.Index, l.Term, l.Data)
		case raft.LogConfiguration:
			d.State.Note(l.Index, l.Term)
		default:
			continue // Raft's own
		}
		if err := d.State.Err(); err != nil {
			return fmt.Errorf("apply log entry %d: %w", index, err)
		}
		if damage, halted := d.State.Damage(); halted {
			return fmt.Errorf("apply log entry %d: %w", index, damage)
		}
	}
	return d.State.Flush(ctx)
}

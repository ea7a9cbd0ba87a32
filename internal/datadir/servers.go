package datadir

import (
	"path/filepath"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/snapshot"
)

// Alone reports whether this node is the only member, by Raft's configuration or, before Raft runs, by what
// marker and log tell.
func (d *Dir) Alone() bool {
	if d.cfg.Raft.Runs() {
		return len(d.cfg.Raft.Latest().Servers) <= 1
	}
	return len(d.LastServers()) <= 1
}

// LastServers returns the servers of the newest configuration that marker and log tell of; none if there is none.
func (d *Dir) LastServers() []raft.Server { return d.lastServers(d.Log.LastServers) }

// lastServers is LastServers, where inLog returns the newest configuration in a log's entries from an index on, nil
// if there is none.
func (d *Dir) lastServers(inLog func(from uint64) []raft.Server) []raft.Server {
	servers, at := snapshot.LastServers(d.snapshotsPath())
	if later := inLog(at + 1); later != nil {
		return later
	}
	return servers
}

func (d *Dir) snapshotsPath() string { return filepath.Join(d.cfg.Path, snapshotsName) }

package raftstore

import (
	"io"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/peer"
)

// A leader that vanishes while it sends a snapshot, on a connection that stays open, does not keep the node that
// receives it from the others: of three nodes, the two that are left must elect a leader.
func TestSnapshotWhoseSenderFallsSilent(t *testing.T) {
	c := newCluster(t, 3, func(cfg *Config) { cfg.Consensus.SnapshotStall = time.Second })
	c.recordedAll()
	put(t, c.leader(), "s", "x")
	old := c.leader()
	f := c.follower()
	c.kill(old.id)
	// In its place, something that has its identity sends a part of a snapshot.
	ident := old.data.Identity.Get()
	ghost := stranger(t, func() peer.Facts {
		return peer.Facts{ClusterID: ident.ClusterID, NodeID: ident.NodeID, Incarnation: ident.Incarnation,
			Wall: time.Now(), Level: f.facts().Level}
	})
	transport := raft.NewNetworkTransport(streamLayer{ghost.Streams()}, 1, time.Hour, io.Discard)
	defer transport.Close()
	body, rest := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- transport.InstallSnapshot(raft.ServerID(f.id), raft.ServerAddress(f.cfg.Peers.Advertise),
			&raft.InstallSnapshotRequest{
				RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte("named otherwise"),
					Addr: []byte(old.cfg.Peers.Advertise)},
				SnapshotVersion: raft.SnapshotVersionMax, Term: 1000, Leader: []byte(old.cfg.Peers.Advertise),
				LastLogIndex: 1 << 40, LastLogTerm: 1000, Size: 1000,
				Configuration: raft.EncodeConfiguration(f.raft.Load().GetConfiguration().Configuration()),
			}, &raft.InstallSnapshotResponse{}, body)
	}()
	if _, err := rest.Write(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	eventuallyTrue(t, "the snapshot begins to arrive", func() bool { return f.raft.Load().CurrentTerm() >= 1000 })
	put(t, c.leader(), "s", "y")
	rest.CloseWithError(io.ErrUnexpectedEOF)
	if err := <-ended; err == nil {
		t.Error("a part of a snapshot was taken for a whole one")
	}
}

package node

import (
	"cmp"
	"context"
	"net"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/config"
	"github.com/turnlog/turnlog/raftstore"
)

func (n *Node) openStore(cfg *config.Config, o Options) error {
	peers, err := cfg.Peers()
	if err != nil {
		return err
	}
	dials, err := cfg.Dials()
	if err != nil {
		return err
	}
	var cluster map[string]string
	if cfg.Cluster.Initial != "" {
		cluster = make(map[string]string, len(peers))
		for _, p := range peers {
			cluster[p.ID] = p.Addr
		}
	}
	var nodes net.Listener // nil: that of RaftAddr
	if cfg.Listen.Raft == "" {
		nodes = newLocalListener()
	}
	n.store, err = raftstore.Open(raftstore.Config{
		NodeID: cfg.NodeID, DataDir: cfg.DataDir,
		Peers: raftstore.Peers{
			Addr: cfg.Listen.Raft, Advertise: cfg.Advertise.Raft, Listener: nodes,
			Dial: dialer(dials),
			TLS:  n.secrets.peerTLS(), Secret: n.secrets.cluster, Closed: closedPort(cfg),
			Greetings: n.descriptors.Greetings(), Conns: n.descriptors.Members(),
		},
		Clients: raftstore.ClientAddrs{
			RESPAddr: cmp.Or(cfg.Advertise.RESP, addrOf(n.respL)),
			HTTPAddr: cmp.Or(cfg.Advertise.HTTP, addrOf(n.httpL)),
		},
		Version:        o.Version,
		InitialCluster: cluster, Join: cfg.Cluster.Join,
		HoldLevel: cfg.Hold(),
		Zone:      cfg.Cluster.Zone, Preference: raftstore.LeaderPreference{Node: cfg.Cluster.LeaderPreference},
		Limits:    cfg.Limits.Turn(),
		Log:       raftstore.Log{Engine: cfg.Log.Engine},
		Consensus: raftstore.Consensus{Heartbeat: cfg.ElectionTimeout, Election: cfg.ElectionTimeout},
		Storage: raftstore.StorageBounds{CompactBytes: int64(cfg.Log.CompactBytes), TailBytes: int64(cfg.Log.TailBytes),
			SnapshotRate: cmp.Or(int64(cfg.SnapshotRate), -1), SegmentBytes: o.SegmentBytes,
			LogCache: o.LogCache},
		State:  stateBudget(int(cfg.MemoryBudget)),
		Logger: n.log, Tracer: o.Tracer,
	})
	return err
}

// addrOf is where l listens, empty if it is nil.
func addrOf(l net.Listener) string {
	if l == nil {
		return ""
	}
	return l.Addr().String()
}

// dialer dials another address where the map has one.
func dialer(dials map[string]string) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, addr string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", cmp.Or(dials[addr], addr))
	}
}

// stateBudget divides the memory: changes that are not flushed yet can take twice
// FlushBytes, and those of the last flush once; more than a third is left to
// requests, the log's cache and the collector. With less left, as by a larger cache of
// blocks, the collector runs more often, and takes more than the cache saves, whose misses
// are in the system's. With smaller flushes more of them touch each session.
func stateBudget(budget int) fsm.Config {
	return fsm.Config{FlushBytes: budget * 3 / 32, WindowBytes: budget / 16, MappedBytes: budget / 4,
		CacheBytes: budget / 32}
}

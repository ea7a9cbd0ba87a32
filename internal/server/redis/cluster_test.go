package redis

import (
	"context"
	"testing"
	"time"

	"github.com/turnlog/turnlog/raftstore"
)

// member is a node of a cluster in this process, with its server.
type member struct {
	*raftstore.Node
	*Server
	stop func() // stops the node
}

// openCluster runs a cluster of three until the test ends.
func openCluster(t testing.TB, options ...func(*Config)) []*member {
	t.Helper()
	var ms []*member
	var configs []raftstore.Config
	var servers []Config
	addrs := make(map[string]string)
	for _, id := range []string{"n1", "n2", "n3"} {
		l, clients := listen(t), listen(t)
		addrs[id] = l.Addr().String()
		configs = append(configs, raftstore.Config{
			NodeID: id, DataDir: t.TempDir(), InitialCluster: addrs,
			Peers: raftstore.Peers{Listener: l}, Clients: raftstore.ClientAddrs{RESPAddr: clients.Addr().String()},
			Consensus: raftstore.Consensus{Heartbeat: 300 * time.Millisecond, Election: 300 * time.Millisecond,
				Lease: 250 * time.Millisecond, Commit: 5 * time.Millisecond},
			Calls: raftstore.CallBounds{LeaderWait: 12 * time.Second, OutcomeWait: 20 * time.Second},
		})
		cfg := Config{Listener: clients, NodeID: id}
		for _, o := range options {
			o(&cfg)
		}
		servers = append(servers, cfg)
	}
	for i := range configs {
		node, err := raftstore.Open(configs[i])
		if err != nil {
			t.Fatal(err)
		}
		servers[i].Engine = engine{node, node.Casts()}
		ms = append(ms, &member{Node: node, stop: background(t, node.Run), Server: open(t, servers[i])})
	}
	for _, m := range ms {
		eventually(t, "the node is ready", func() bool { ok, _ := m.Ready(); return ok })
		eventually(t, "the node reaches the others", func() bool {
			answers := make(chan int, 1)
			m.Casts().Broadcast(context.Background(), nil, func(a [][]byte) { answers <- len(a) })
			return <-answers == len(ms)-1
		})
	}
	return ms
}

// leaderOf returns the member that leads, and those that follow.
func leaderOf(t testing.TB, ms []*member) (leader *member, others []*member) {
	t.Helper()
	eventually(t, "there is a leader", func() bool {
		others = nil
		for _, m := range ms {
			if id, _ := m.Leader(); id == m.cfg.NodeID {
				leader = m
			} else {
				others = append(others, m)
			}
		}
		return len(others) == len(ms)-1
	})
	return leader, others
}

package raftstore

import (
	"context"
	"io"
	"net"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/requests"
	"github.com/turnlog/turnlog/internal/staterepair"
)

// handOverTime bounds how long a leader with a damaged state tries to hand over in an orderly way.
const handOverTime = 3 * time.Second

func (n *Node) newRepairer() *staterepair.Repairer {
	return staterepair.New(staterepair.Config{
		Dir: n.cfg.DataDir, Cluster: repairCluster{n}, Log: repairLog{n},
		Stream: func(d *fsm.Dump) io.ReadCloser { return n.data.Snapshots.Stream(d) },
		Resume: func() bool { return n.applier.resume() },
		Repaired: func() {
			n.stats.repairs.Add(1)
			n.writes.forwarder.Wake()
			n.lead.Announce()
		},
		Fail: n.failure.Fail, Logger: n.log,
	})
}

// repairCluster implements staterepair.Cluster.
type repairCluster struct{ node *Node }

func (c repairCluster) Alone() bool { return c.node.data.Alone() }

func (c repairCluster) HandOver(ctx context.Context) {
	n := c.node
	if !n.raft.Leads() {
		return
	}
	own := n.status().Harm()
	if own == requests.Unharmed {
		return // it was repaired meanwhile
	}
	if _, better := (transfer{n}).targetWithin(ctx, own-1); !better {
		return // writes would wait for nothing
	}
	orderly, cancel := context.WithTimeout(ctx, handOverTime)
	defer cancel()
	err := n.TransferLeadership(orderly)
	if err != nil {
		err = transfer{n}.force(ctx)
	}
	if err != nil {
		n.log.Warn("this node leads with a damaged state, and cannot transfer leadership", "error", err)
	}
}

func (c repairCluster) Sources(ctx context.Context) (sources []staterepair.Source, damaged []string) {
	var leaders []staterepair.Source
	for _, s := range c.node.raft.Configuration() {
		if s.ID == c.node.id {
			continue
		}
		source := staterepair.Source{ID: s.ID, Addr: s.Addr}
		st, err := c.node.statusOf(ctx, s.ID)
		switch {
		case err != nil:
		case st.Damaged:
			damaged = append(damaged, s.ID)
		case st.Role == "leader":
			leaders = append(leaders, source)
		default:
			sources = append(sources, source)
		}
	}
	return append(sources, leaders...), damaged
}

func (c repairCluster) Connect(ctx context.Context, to staterepair.Source) (net.Conn, error) {
	return c.node.net.Transfer(ctx, to.ID, to.Addr)
}

// repairLog implements staterepair.Log.
type repairLog struct{ node *Node }

func (l repairLog) Dropped() uint64 {
	return max(l.node.data.Snapshots.Position().Index, max(l.node.data.Log.FirstDurable(), 1)-1)
}

func (l repairLog) Last() uint64 { return l.node.data.Log.LastDurable() }

func (l repairLog) Has(p raftlog.Position) (bool, error) {
	if l.node.data.Snapshots.Position() == p {
		return true, nil
	}
	if l.node.data.Log.LastDurable() < p.Index {
		return false, nil
	}
	var e raft.Log
	err := l.node.data.Log.GetLog(p.Index, &e)
	return err == nil && e.Term == p.Term, err
}

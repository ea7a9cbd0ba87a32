package raftstore

import (
	"context"
	"time"

	"github.com/turnlog/turnlog/internal/readindex"
	"github.com/turnlog/turnlog/turn"
)

// newReader needs the connections to other nodes.
func (n *Node) newReader() *readindex.Reader {
	return readindex.New(readindex.Config{
		Self: n.id, Cluster: readCluster{n}, Peers: n.peers, State: n.data.State,
		LeaderWait: n.cfg.Calls.LeaderWait, RoundLimit: min(n.cfg.Consensus.Heartbeat, time.Second),
		Tracer: n.cfg.Tracer,
	})
}

// Query answers a query. The error is nil or a *turn.Error. Since queries change nothing, they can be
// repeated after any error whose kind permits a retry.
func (n *Node) Query(ctx context.Context, q turn.Query, c turn.Consistency) (turn.Result, error) {
	if err := q.Validate(n.cfg.Limits); err != nil {
		return turn.Result{}, turn.AsError(err)
	}
	if err := n.levels.AwaitQuery(ctx, q); err != nil {
		return turn.Result{}, err
	}
	return n.reads.Query(ctx, q, c)
}

// readCluster implements readindex.Cluster.
type readCluster struct{ node *Node }

func (c readCluster) Leader() (id string, changed <-chan struct{}) { return c.node.lead.Leader() }

func (c readCluster) Serving() (term uint64, changed <-chan struct{}) { return c.node.lead.Serves() }

func (c readCluster) Raft() (leads bool, term, commit uint64) { return c.node.raft.State() }

func (c readCluster) Voters() (others []string, self bool) { return c.node.raft.Voters() }

func (c readCluster) Others() []string { return c.node.raft.Others() }

func (c readCluster) Member() (configured, recorded bool) {
	n := c.node
	recorded = n.data.Recorded(n.id) == n.data.Identity.Get().Incarnation
	if n.raft.Load() == nil { // the configuration is not known yet
		return true, recorded
	}
	_, configured = n.raft.Configuration().Find(n.id)
	return configured, recorded
}

func (c readCluster) Alone() bool { return c.node.data.Alone() }

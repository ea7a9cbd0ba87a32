package group

import (
	"context"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/membership"
)

// Group is the Raft group, as the node that takes part in it knows it. Before Raft runs, there is no
// configuration, term or leader.
type Group struct {
	atomic.Pointer[raft.Raft] // nil until it runs

	Self string // the node's id
}

// Latest returns the latest configuration, committed or not.
func (g *Group) Latest() raft.Configuration {
	r := g.Load()
	if r == nil {
		return raft.Configuration{}
	}
	return r.GetConfiguration().Configuration()
}

// Configuration is Latest, in the words of package membership.
func (g *Group) Configuration() membership.Configuration { return configurationOf(g.Latest()) }

func configurationOf(c raft.Configuration) (servers membership.Configuration) {
	for _, s := range c.Servers {
		servers = append(servers, membership.Server{
			ID: string(s.ID), Addr: string(s.Address), Voter: s.Suffrage == raft.Voter,
		})
	}
	return servers
}

// Voters splits the voters of the latest configuration into the others and this node.
func (g *Group) Voters() (others []string, self bool) { return g.Configuration().Voters(g.Self) }

// Others are the other nodes of the latest configuration, voters or not.
func (g *Group) Others() []string { return g.Configuration().Others(g.Self) }

// State returns whether this node leads, in which term, and what it knows to be committed.
func (g *Group) State() (leader bool, term, commit uint64) {
	r := g.Load()
	if r == nil {
		return false, 0, 0
	}
	// In this order: a commit index that is read while leading in term is one
	// of that term, since neither goes back.
	leader, term = r.State() == raft.Leader, r.CurrentTerm()
	return leader, term, r.CommitIndex()
}

// Leads reports whether this node leads.
func (g *Group) Leads() bool {
	leads, _, _ := g.State()
	return leads
}

// Leader returns the node that Raft follows, be it this one; empty: none.
func (g *Group) Leader() string {
	r := g.Load()
	if r == nil {
		return ""
	}
	_, id := r.LeaderWithID()
	return string(id)
}

// Replicates reports whether this node leads, and has to send another its log.
func (g *Group) Replicates(id string) bool {
	if !g.Leads() {
		return false
	}
	_, found := g.Configuration().Find(id)
	return found
}

// Await waits for a future, but no longer than ctx: Raft loses futures when it
// is shut down. The goroutine that waits on is lost with it.
func Await(ctx context.Context, f raft.Future) error {
	done := make(chan error, 1)
	go func() { done <- f.Error() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

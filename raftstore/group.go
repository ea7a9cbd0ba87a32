package raftstore

import (
	"sync/atomic"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/membership"
)

// group is the Raft group, as the node that takes part in it knows it. Before Run has started Raft, and
// in a node that is only opened, there is no configuration, term or leader.
type group struct {
	atomic.Pointer[raft.Raft] // nil until Run has started it

	self string // the node's id
}

// latest returns the latest configuration, committed or not.
func (g *group) latest() raft.Configuration {
	r := g.Load()
	if r == nil {
		return raft.Configuration{}
	}
	return r.GetConfiguration().Configuration()
}

// configuration is latest, in the words of package membership.
func (g *group) configuration() membership.Configuration { return configurationOf(g.latest()) }

func configurationOf(c raft.Configuration) (servers membership.Configuration) {
	for _, s := range c.Servers {
		servers = append(servers, membership.Server{
			ID: string(s.ID), Addr: string(s.Address), Voter: s.Suffrage == raft.Voter,
		})
	}
	return servers
}

// voters splits the voters of the latest configuration into the others and this node.
func (g *group) voters() (others []string, self bool) { return g.configuration().Voters(g.self) }

// others are the other nodes of the latest configuration, voters or not.
func (g *group) others() []string { return g.configuration().Others(g.self) }

// state returns whether this node leads, in which term, and what it knows to be committed.
func (g *group) state() (leader bool, term, commit uint64) {
	r := g.Load()
	if r == nil {
		return false, 0, 0
	}
	// In this order: a commit index that is read while leading in term is one
	// of that term, since neither goes back.
	leader, term = r.State() == raft.Leader, r.CurrentTerm()
	return leader, term, r.CommitIndex()
}

func (g *group) leads() bool {
	leads, _, _ := g.state()
	return leads
}

// leader returns the node that Raft follows, be it this one; empty: none.
func (g *group) leader() string {
	r := g.Load()
	if r == nil {
		return ""
	}
	_, id := r.LeaderWithID()
	return string(id)
}

// replicates reports whether this node leads, and has to send another its log.
func (g *group) replicates(id string) bool {
	if !g.leads() {
		return false
	}
	_, found := g.configuration().Find(id)
	return found
}

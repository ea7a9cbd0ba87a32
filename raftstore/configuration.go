package raftstore

import "github.com/hashicorp/raft"

// configuration returns the latest configuration, committed or not.
func (n *Node) configuration() raft.Configuration {
	r := n.raft.Load()
	if r == nil {
		return raft.Configuration{}
	}
	return r.GetConfiguration().Configuration()
}

func (n *Node) voters() (others []string, self bool) { return votersOf(n.configuration(), n.id) }

// votersOf splits the voters of a configuration into the others and self.
func votersOf(c raft.Configuration, self string) (others []string, isVoter bool) {
	for _, s := range c.Servers {
		switch {
		case s.Suffrage != raft.Voter:
		case string(s.ID) == self:
			isVoter = true
		default:
			others = append(others, string(s.ID))
		}
	}
	return others, isVoter
}

// others are the other nodes of the configuration, voters or not.
func (n *Node) others() (ids []string) {
	for _, s := range n.configuration().Servers {
		if string(s.ID) != n.id {
			ids = append(ids, string(s.ID))
		}
	}
	return ids
}

// serverIn returns a server of a configuration.
func serverIn(c raft.Configuration, id string) (raft.Server, bool) {
	for _, s := range c.Servers {
		if string(s.ID) == id {
			return s, true
		}
	}
	return raft.Server{}, false
}

// hadOthers reports whether, as far as marker and log tell, there are other members.
func (n *Node) hadOthers() bool { return len(n.lastServers(n.logs.LastServers)) > 1 }

// alone reports whether this node is the only member.
func (n *Node) alone() bool {
	if n.raft.Load() == nil {
		return !n.hadOthers()
	}
	return len(n.configuration().Servers) <= 1
}

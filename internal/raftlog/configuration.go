package raftlog

import (
	"slices"

	"github.com/hashicorp/raft"
)

// LastServers returns the servers of the newest configuration among the durable entries from
// an index on; nil: there is none.
func (s *Store) LastServers(from uint64) []raft.Server { return LastServers(s.engine, from) }

// LastServers is Store.LastServers for the entries of an engine.
func LastServers(e Engine, from uint64) (servers []raft.Server) {
	for i := max(from, e.FirstIndex()); i > 0 && i <= e.LastIndex(); i++ {
		var l raft.Log
		if e.Get(i, &l) == nil && l.Type == raft.LogConfiguration {
			servers = raft.DecodeConfiguration(l.Data).Servers
		}
	}
	return servers
}

// HasServer reports whether a configuration among the given entries has such a server.
func HasServer(s *Store, from, to uint64, such func(raft.Server) bool) bool {
	for i := from; i > 0 && i <= to; i++ {
		var l raft.Log
		if s.Entry(i, &l) == nil && l.Type == raft.LogConfiguration &&
			slices.ContainsFunc(raft.DecodeConfiguration(l.Data).Servers, such) {
			return true
		}
	}
	return false
}

// voters counts the voters of a configuration.
func voters(c raft.Configuration) (n int) {
	for _, s := range c.Servers {
		if s.Suffrage == raft.Voter {
			n++
		}
	}
	return n
}

// noteConfiguration tells parallelAppend how many voters a stored configuration has.
func (s *Store) noteConfiguration(logs []*raft.Log) {
	for _, l := range logs {
		if l.Type == raft.LogConfiguration {
			s.parallel.configured(voters(raft.DecodeConfiguration(l.Data)))
		}
	}
}

package raftstore

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/raftlog"
)

// Learners elect no leader, though the state records them as members: a node that is the only
// voter left has no other node to send it the rest.
func TestDamagedLogBesideLearnersIsRefused(t *testing.T) {
	c := newCluster(t, 3)
	c.ready()
	c.recordedAll()
	for i := range 60 { // so that the damage comes before the removals
		put(t, c.leader(), "s", fmt.Sprintf("%d %01000d", i, 0))
	}
	c.leaveAlone("n1")
	n1 := c.leader()
	for _, id := range []string{"n4", "n5"} {
		c.addrs[id] = freeAddr(t)
		c.start(id, func(cfg *Config) { cfg.Join = true })
		if err := await(t.Context(), n1.raft.Load().AddNonvoter(raft.ServerID(id), raft.ServerAddress(c.addrs[id]), 0,
			hang)); err != nil {
			t.Fatal(err)
		}
	}
	c.recordedAll()
	put(t, n1, "s", "after")
	c.killAll()
	dir := filepath.Join(c.dir, "n1")
	rotLog(t, dir)
	n, err := Open(c.config("n1"))
	if err == nil {
		defer n.Close()
		t.Fatalf("it opens, and waits for those of %v", n.lastServers(n.logs.LastServers))
	}
	if !strings.Contains(err.Error(), "of 1 voters, as far as is known, 0 are other nodes") {
		t.Errorf("it does not open: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, raftlog.DamagedName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the log was put aside: %v", err)
	}
}

// leaveAlone removes all members but one.
func (c *cluster) leaveAlone(last string) {
	c.t.Helper()
	for _, id := range slices.Sorted(maps.Keys(c.addrs)) {
		if id == last {
			continue
		}
		c.change(func(leader *running) error { return leader.RemoveNode(c.t.Context(), id) })
		if err := c.ended(c.nodes[id]); !errors.Is(err, ErrRemoved) {
			c.t.Fatalf("the removed node ends with: %v", err)
		}
		delete(c.addrs, id)
	}
	c.recordedAll()
}

// Those count that are voters by the log and members by the state. The node itself counts as a
// voter: it may have got its vote in the part of the log that is not readable.
func TestVotersThatReplaceADamagedLog(t *testing.T) {
	const voter, learner = raft.Voter, raft.Nonvoter
	for name, tt := range map[string]struct {
		log   map[string]raft.ServerSuffrage
		state []string
		fit   bool
	}{
		"three voters": {map[string]raft.ServerSuffrage{"n1": voter, "n2": voter, "n3": voter},
			[]string{"n1", "n2", "n3"}, true},
		"and learners": {map[string]raft.ServerSuffrage{"n1": voter, "n2": voter, "n3": voter,
			"n4": learner, "n5": learner, "n6": learner}, []string{"n1", "n2", "n3", "n4", "n5", "n6"}, true},
		"learners added later": {map[string]raft.ServerSuffrage{"n1": voter, "n2": voter, "n3": voter},
			[]string{"n1", "n2", "n3", "n4", "n5", "n6"}, true},
		"two voters": {map[string]raft.ServerSuffrage{"n1": voter, "n2": voter},
			[]string{"n1", "n2"}, false},
		"two voters and learners": {map[string]raft.ServerSuffrage{"n1": voter, "n2": voter, "n3": learner,
			"n4": learner}, []string{"n1", "n2", "n3", "n4"}, false},
		"voters removed, learners added": {map[string]raft.ServerSuffrage{"n1": voter, "n2": voter, "n3": voter},
			[]string{"n1", "n4", "n5"}, false},
		"a voter removed, a learner added": {map[string]raft.ServerSuffrage{"n1": voter, "n2": voter, "n3": voter},
			[]string{"n1", "n2", "n4"}, false},
		"a learner of two voters": {map[string]raft.ServerSuffrage{"n1": learner, "n2": voter, "n3": voter},
			[]string{"n1", "n2", "n3"}, true},
		"a learner of one": {map[string]raft.ServerSuffrage{"n1": learner, "n2": voter}, []string{"n1", "n2"}, false},
		"nothing recorded": {map[string]raft.ServerSuffrage{"n1": voter, "n2": voter, "n3": voter}, nil, false},
		"nothing readable": {nil, []string{"n1", "n2", "n3"}, false},
	} {
		var servers []raft.Server
		for id, suffrage := range tt.log {
			servers = append(servers, raft.Server{ID: raft.ServerID(id), Suffrage: suffrage})
		}
		var members []codec.Member
		for _, id := range tt.state {
			members = append(members, codec.Member{ID: id})
		}
		if err := checkVoters("n1", servers, members); (err == nil) != tt.fit {
			t.Errorf("%s: %v", name, err)
		}
	}
}

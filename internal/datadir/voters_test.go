package datadir

import (
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/codec"
)

// Those count that are voters by the log and members by the state. The node itself counts as a
// voter: it may have got its vote in the part of the log that is not readable.
func TestVotersThatReplaceADamagedLog(t *testing.T) {
	const voter, learner = raft.Voter, raft.Nonvoter
	for name, tt := range map[string]struct {
		log   map[string]raft.ServerSuffrage
		state []string // a ~ before its id: a learner
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
		"two of three voters demoted": {map[string]raft.ServerSuffrage{"n1": voter, "n2": voter, "n3": voter},
			[]string{"n1", "~n2", "~n3"}, false},
		"one of three voters demoted": {map[string]raft.ServerSuffrage{"n1": voter, "n2": voter, "n3": voter},
			[]string{"n1", "n2", "~n3"}, false},
		"one of four voters demoted": {map[string]raft.ServerSuffrage{"n1": voter, "n2": voter, "n3": voter,
			"n4": voter}, []string{"n1", "n2", "n3", "~n4"}, true},
		"nothing recorded": {map[string]raft.ServerSuffrage{"n1": voter, "n2": voter, "n3": voter}, nil, false},
		"nothing readable": {nil, []string{"n1", "n2", "n3"}, false},
	} {
		var servers []raft.Server
		for id, suffrage := range tt.log {
			servers = append(servers, raft.Server{ID: raft.ServerID(id), Suffrage: suffrage})
		}
		var members []codec.Member
		for _, id := range tt.state {
			name, learner := strings.CutPrefix(id, "~")
			members = append(members, codec.Member{ID: name, Learner: learner})
		}
		if err := checkVoters("n1", servers, members); (err == nil) != tt.fit {
			t.Errorf("%s: %v", name, err)
		}
	}
}

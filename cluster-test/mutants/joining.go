package mutants

import (
	"time"

	"github.com/turnlog/turnlog/cluster-test/mutation"
)

// joiningMutants break changes of the membership.
func joiningMutants() []mutation.Mutant {
	return []mutation.Mutant{
		{Name: "removal-without-quorum", About: "a node is removed though those that remain are no quorum",
			Edits: []mutation.Edit{{Old: "if err := n.checkRemaining(ctx, id); err != nil {",
				New: "if err := n.checkRemaining(ctx, id); err != nil && false {"}},
			Catchers: []mutation.Catcher{{Test: "TestRemovalThatLeavesNoQuorumIsRefused", Runs: 1}}},
		{Name: "lone-voter-waits", About: "a node that is alone waits for its election timeout before it leads",
			Edits:    []mutation.Edit{{Old: "\t\tn.standAlone(ctx)\n", New: "\t\t_ = n.standAlone\n"}},
			Catchers: []mutation.Catcher{{Test: "TestTheOnlyVoterLeadsAtOnce", Shows: []string{"no leader within"}, Runs: 1}}},
		{Name: "old-address-told", About: "a leader that was alone adds a node, which looks for it at its old address",
			Edits:    []mutation.Edit{{Old: "!found || s.Addr == self {", New: "!found || s.Addr == self || found {"}},
			Catchers: []mutation.Catcher{{Test: "TestALoneNodeBecomesACluster", Shows: []string{"not ready"}, Runs: 1}}},
		{Name: "new-voter-rejected", About: "a node that lags votes for no member that it does not know",
			Edits: []mutation.Edit{{Old: "\t\th.ID = []byte(servers[known].ID)\n", New: "\t\t_ = servers[known]\n"}},
			Catchers: []mutation.Catcher{{Test: "TestRemovedCandidateGetsNoVote", Shows: []string{"whose log is ahead"},
				Runs: 1}}},
		{Name: "any-candidate-accepted", About: "a node votes for a candidate that is no member, and is not ahead",
			Edits: []mutation.Edit{{Old: "|| !b.cfg.Mark.Position().Before(end) {", New: "{"}},
			Catchers: []mutation.Catcher{{Test: "TestRemovedCandidateGetsNoVote",
				Shows: []string{"does not know, with the same log"}, Runs: 1}}},
		{Name: "added-again-forgotten", About: "a leader removes the record of a member that was added again meanwhile",
			Edits: []mutation.Edit{{Old: "n.raft.configuration().Find(id); again {",
				New: "n.raft.configuration().Find(id); again && id == \"\" {"}},
			Catchers: []mutation.Catcher{{Test: "TestRecordOfAMemberAddedMeanwhileStays", Shows: []string{"is recorded as"},
				Runs: 3}}},
		{Name: "changes-not-repeated",
			About: "a change of the membership fails if the node that was asked does not lead any more",
			Edits: []mutation.Edit{{Old: "if errors.As(err, new(moved)) && time.Now().Before(limit) {",
				New: "if errors.As(err, new(moved)) && time.Now().Before(limit.Add(-time.Hour)) {"}},
			Catchers: []mutation.Catcher{{Test: "TestChangeFollowsTheLeader", Runs: 1}}},
		{Name: "level-without-all", About: "the cluster's level rises although a member cannot be asked",
			Edits: []mutation.Edit{{Old: "err == nil {\n\t\t\t\tallowed[i] = st.allowedLevel()",
				New: "err == nil {\n\t\t\t\tallowed[i] = st.allowedLevel()\n\t\t\t} else {\n\t\t\t\tallowed[i] = turn.NewestLevel"}},
			Catchers: []mutation.Catcher{{Test: "TestLevelWaitsForAllMembers", Shows: []string{"the level is"}, Runs: 1}}},
		{Name: "below-let-in", About: "a node that does not know the cluster's level joins",
			Edits:    []mutation.Edit{{Old: "if known >= level {", New: "if known >= level || true {"}},
			Catchers: []mutation.Catcher{{Test: "TestNodeBelowTheLevelIsRefused", Runs: 1}}},
		{Name: "wiped-let-in", About: "a node that lost its data is let in under its old name",
			Edits: []mutation.Edit{{Old: `known != "" && known != r.Incarnation`, New: `known == "never"`}},
			Catchers: []mutation.Catcher{{Scenario: "wiped", Time: 10 * time.Second, Nemesis: "wiped", Workloads: "append",
				Shows: []string{"let in again"}, Runs: 5},
				{Test: "TestWipedNodeThatStartsAloneIsRefused", Shows: []string{" goes on", "it ends with"}, Runs: 1}}},
		{Name: "above-the-level-taken",
			About:    "what needs the next cluster level is taken although members do not know it",
			Edits:    []mutation.Edit{{Old: "if needs <= level {", New: "if needs <= level+1 {"}},
			Catchers: []mutation.Catcher{{Test: "TestBatchAboveTheLevelIsRefused", Runs: 1}}},
		{Name: "refused-batch-passed-over", About: "a batch that is refused because of the level counts as carried out",
			Edits: []mutation.Edit{{In: "(*Inbox).Take", Old: "v, refused := in.vet(f.Commands)",
				New: "v, _ := in.vet(f.Commands)\n\tvar refused *Failure"}},
			Catchers: []mutation.Catcher{{Test: "TestBatchAboveTheLevelIsRefused", Runs: 1}}},
		{Name: "handed-over-by-the-leader-only",
			About: "a node that does not lead refuses to have the leader hand over",
			Edits: []mutation.Edit{{Old: "return n.changeOnce(ctx, change{Transfer: true})",
				New: "return n.TransferLeadership(ctx)"}},
			Catchers: []mutation.Catcher{{Test: "TestHandOverFromAnyNode", Runs: 1}}},
	}
}

package mutants

import (
	"time"

	"github.com/turnlog/turnlog/cluster-test/mutation"
)

// memberMutants break what only a cluster shows whose members change.
func memberMutants() []mutation.Mutant {
	const library = "github.com/hashicorp/raft"
	return []mutation.Mutant{
		{Name: "preferred-at-once", About: "a preferred voter leads as soon as it answers, however often it comes " +
			"and goes",
			Edits: []mutation.Edit{{In: "(*Chooser).settleTime",
				Old: "return doubled(c.settle, len(c.moves)-freeMoves)",
				New: "return 0"}},
			Catchers: []mutation.Catcher{{Test: "TestChoiceTakesTime", Runs: 1},
				{Test: "TestLeadersThatComeAndGoAreChosenLater", Runs: 1}}},
		{Name: "preferred-though-it-lags", About: "a preferred voter that gets no entries is made the leader again " +
			"and again",
			Edits:    []mutation.Edit{{In: "(*preferred).able", Old: "st.Applied >= p.had &&", New: "true &&"}},
			Catchers: []mutation.Catcher{{Test: "TestWhoIsAbleToLead", Runs: 1}}},
		{Name: "failed-transfers-repeated", About: "a transfer to a preferred voter that has failed is tried again " +
			"at once",
			Edits: []mutation.Edit{{In: "(*Chooser).paused", Old: "return ok && now",
				New: "return false && ok && now"}},
			Catchers: []mutation.Catcher{{Test: "TestFailedTransfersAreNotRepeatedSoon", Runs: 1}}},
		{Name: "own-removal-unread",
			About: "a node whose log tells of its removal, and whose state has no record, waits for ever",
			Edits: []mutation.Edit{{In: "policyCluster.WasMember", Old: "member || c.node.data.WasMember()",
				New: "member"}},
			Catchers: []mutation.Catcher{{Test: "TestRemovedLearnerWithoutRecordsStops", Runs: 1}}},
		{Name: "added-with-old-data", About: "a node that was removed is added with the data of its earlier membership",
			Edits: []mutation.Edit{{In: "(*Changes).addLearner", Old: "!found && facts.Recorded",
				New: "!found && false"}},
			Catchers: []mutation.Catcher{{Test: "TestRemovedNodeIsNotAddedAgainWithItsDirectory", Runs: 1}}},
		{Name: "half-is-a-majority",
			About: "of an even number of voters, as there is while the cluster grows, half elect a leader and commit",
			Edits: []mutation.Edit{{Module: library, Old: "return voters/2 + 1\n", New: "return (voters + 1) / 2\n"},
				{Module: library, Old: "quorumMatchIndex := matched[(len(matched)-1)/2]",
					New: "quorumMatchIndex := matched[len(matched)/2]"}},
			Catchers: []mutation.Catcher{{Scenario: "membership", Time: 40 * time.Second, Nemesis: "grown",
				Workloads: "append",
				Shows: []string{"lost", "two values", "nodes differ", "states differ", "real time",
					"removes committed"}, Runs: 6}}},
	}
}

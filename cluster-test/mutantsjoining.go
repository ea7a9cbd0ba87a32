package main

import "time"

// joiningMutants break changes of the membership.
func joiningMutants() []mutant {
	return []mutant{
		{Name: "removal-without-quorum", About: "a node is removed though those that remain are no quorum",
			Edits:    []edit{{Old: "if err := n.checkRemaining(ctx, id); err != nil {", New: "if err := n.checkRemaining(ctx, id); err != nil && false {"}},
			Catchers: []catcher{{Test: "TestRemovalThatLeavesNoQuorumIsRefused", Runs: 1}}},
		{Name: "new-voter-rejected", About: "a node that lags votes for no member that it does not know",
			Edits:    []edit{{Old: "\t\th.ID = []byte(servers[known].ID)\n", New: "\t\t_ = servers[known]\n"}},
			Catchers: []catcher{{Test: "TestRemovedCandidateGetsNoVote", Shows: []string{"whose log is ahead"}, Runs: 1}}},
		{Name: "any-candidate-accepted", About: "a node votes for a candidate that is no member, and is not ahead",
			Edits:    []edit{{Old: "|| !b.mark.Position().Before(end) {", New: "{"}},
			Catchers: []catcher{{Test: "TestRemovedCandidateGetsNoVote", Shows: []string{"does not know, with the same log"}, Runs: 1}}},
		{Name: "added-again-forgotten", About: "a leader removes the record of a member that was added again meanwhile",
			Edits:    []edit{{Old: "serverIn(n.configuration(), id); again {", New: "serverIn(n.configuration(), id); again && id == \"\" {"}},
			Catchers: []catcher{{Test: "TestRecordOfAMemberAddedMeanwhileStays", Shows: []string{"is recorded as"}, Runs: 3}}},
		{Name: "changes-not-repeated", About: "a change of the membership fails if the node that was asked does not lead any more",
			Edits:    []edit{{Old: "if errors.As(err, new(moved)) && time.Now().Before(limit) {", New: "if errors.As(err, new(moved)) && time.Now().Before(limit.Add(-time.Hour)) {"}},
			Catchers: []catcher{{Test: "TestChangeFollowsTheLeader", Runs: 1}}},
		{Name: "level-without-all", About: "the cluster's level rises although a member cannot be asked",
			Edits:    []edit{{Old: "err == nil {\n\t\t\t\tallowed[i] = st.allowedLevel()", New: "err == nil {\n\t\t\t\tallowed[i] = st.allowedLevel()\n\t\t\t} else {\n\t\t\t\tallowed[i] = turn.NewestLevel"}},
			Catchers: []catcher{{Test: "TestLevelWaitsForAllMembers", Shows: []string{"the level is 1"}, Runs: 1}}},
		{Name: "below-let-in", About: "a node that does not know the cluster's level joins",
			Edits:    []edit{{Old: "if known >= level {", New: "if known >= level || true {"}},
			Catchers: []catcher{{Test: "TestNodeBelowTheLevelIsRefused", Runs: 1}}},
		{Name: "wiped-let-in", About: "a node that lost its data is let in under its old name",
			Edits: []edit{{Old: `known != "" && known != r.Incarnation`, New: `known == "never"`}},
			Catchers: []catcher{{Scenario: "wiped", Time: 10 * time.Second, Nemesis: "wiped", Workloads: "append", Shows: []string{"let in again"}, Runs: 5},
				{Test: "TestWipedNodeThatStartsAloneIsRefused", Shows: []string{" goes on", "it ends with"}, Runs: 1}}},
		{Name: "above-the-level-taken", About: "what needs the next cluster level is taken although members do not know it",
			Edits:    []edit{{Old: "if needs <= level {", New: "if needs <= level+1 {"}},
			Catchers: []catcher{{Test: "TestBatchAboveTheLevelIsRefused", Runs: 1}}},
		{Name: "refused-batch-passed-over", About: "a batch that is refused because of the level counts as carried out",
			Edits:    []edit{{In: "(*Inbox).Take", Old: "v, refused := in.vet(f.Commands)", New: "v, _ := in.vet(f.Commands)\n\tvar refused *Failure"}},
			Catchers: []catcher{{Test: "TestBatchAboveTheLevelIsRefused", Runs: 1}}},
		{Name: "handed-over-by-the-leader-only", About: "a node that does not lead refuses to have the leader hand over",
			Edits:    []edit{{Old: "return n.changeOnce(ctx, change{Transfer: true})", New: "return n.TransferLeadership(ctx)"}},
			Catchers: []catcher{{Test: "TestHandOverFromAnyNode", Runs: 1}}},
	}
}

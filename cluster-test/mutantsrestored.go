package main

// restoredMutants break how a node finds out that an older copy of its data was put back.
func restoredMutants() []mutant {
	return []mutant{
		{Name: "sightings-unsaid", About: "a candidate does not say what it has seen of the node whose vote it wants",
			Edits:    []edit{{Old: " Say: n.say,", New: ""}},
			Catchers: []catcher{{Test: "TestCopyFromBeforeItsMembershipLosesNothing", Runs: 1}}},
		{Name: "candidate-in-its-term", About: "a candidate is refused for being in the term for which it wants the vote",
			Edits:    []edit{{Old: "if n.ballot.ready() != nil || len(n.configuration().Servers) == 0 {", New: "{"}},
			Catchers: []catcher{{Test: "TestWhatOthersSayHarmsNoHealthyNode", Runs: 1}}},
		{Name: "another-directory-seen", About: "what was seen of another directory of the node counts",
			Edits:    []edit{{Old: "\t\tseen.sighting = sighting{}\n", New: ""}},
			Catchers: []catcher{{Test: "TestWhatOthersSayHarmsNoHealthyNode", Runs: 1}}},
		{Name: "judged-unchecked", About: "a node is judged by its mark before that was held against its log",
			Edits:    []edit{{Old: "\tcase <-n.checked: //", New: "\tdefault: //"}},
			Catchers: []catcher{{Test: "TestNothingIsJudgedBeforeTheLogIsChecked", Runs: 1}}},
		{Name: "doubt-ended-by-any-leader", About: "a leader of a term before the last one in doubt ends the doubt",
			Edits:    []edit{{Old: "end.term == term && term >= l.doubt && !end", New: "end.term == term && !end"}},
			Catchers: []catcher{{Test: "TestLeaderThatEndsADoubt", Runs: 1}}},
		{Name: "half-a-vote-counts", About: "the term of a vote is written beside the candidate of the vote before",
			Edits:    []edit{{Old: "if k == keyVoteTerm {\n\t\tvalues", New: "if k == keyTerm+keyVoteTerm {\n\t\tvalues"}},
			Catchers: []catcher{{Test: "TestHalfAVoteIsNone", Runs: 1}}},
		{Name: "doubt-too-short", About: "the doubt of an older copy leaves out the terms that the others are in",
			Edits:    []edit{{Old: "max(promised, seen.Promised, seen.Own, n.ballot.forgotten())", New: "max(promised, seen.Promised)"}},
			Catchers: []catcher{{Test: "TestDoubtIncludesTheTermsOfOthers", Runs: 1}}},
		{Name: "doubt-by-first-answer", About: "the doubt of an older copy leaves out the terms of those that answer later",
			Edits:    []edit{{Old: "n.mark.prolong(term)", New: "n.mark.prolong(0)"}},
			Catchers: []catcher{{Test: "TestDoubtIncludesTheTermsOfOthers", Runs: 1}}},
		{Name: "mark-before-term", About: "a node that is killed while it notes a loss never starts again",
			Edits: []edit{{Old: "err := n.mark.lost(loss{doubt: doubt, restored: true})",
				New: "err := n.mark.lost(loss{had: seen.position(), doubt: doubt, restored: true})"}},
			Catchers: []catcher{{Test: "TestKilledWhileItNotesALoss", Runs: 1}}},
		{Name: "cut-taken-for-loss", About: "a node that was killed after it cut its log rightly takes itself for an older copy",
			Edits:    []edit{{Old: "had, promised := n.mark.ever(), n.stable.Promised()", New: "had, promised := n.mark.position(), n.stable.Promised()"}},
			Catchers: []catcher{{Test: "TestRightlyCutLogIsNoCopy", Runs: 1}}},
	}
}

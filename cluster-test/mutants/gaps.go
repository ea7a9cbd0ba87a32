package mutants

import "github.com/turnlog/turnlog/cluster-test/mutation"

// gapsMutants break what walks remember of removed elements.
func gapsMutants() []mutation.Mutant {
	return []mutation.Mutant{
		{Name: "gap-uncut", About: "an element that is added among removed ones is passed over with them",
			Edits:    []mutation.Edit{{Old: "\t\th.gaps.Cut(layout.ElementKey(h.Inc, name))\n", New: ""}},
			Catchers: []mutation.Catcher{{Test: "TestGapsHideNothing", Runs: 1}}},
		{Name: "erased-gap-uncut", About: "a key that is written again after a deletion by prefix is not listed",
			Edits:    []mutation.Edit{{Old: "\tks.Gaps.Cut(key)\n", New: ""}},
			Catchers: []mutation.Catcher{{Test: "TestErasePassesDeletedKeysOnce", Runs: 1}}},
		{Name: "gaps-unlearned", About: "walks pass every removed element that is not flushed yet",
			Edits:    []mutation.Edit{{Old: "|| ks.Chance() >= gapChance {", New: "|| ks.Chance() >= 0 {"}},
			Catchers: []mutation.Catcher{{Test: "TestTakingFromAnEndPassesFewRemoved", Runs: 1}}},
		{Name: "gaps-not-learned", About: "walks in transactions pass the same removed elements again and again",
			Edits:    []mutation.Edit{{Old: "\te.learned = &h.gaps\n", New: ""}},
			Catchers: []mutation.Catcher{{Test: "TestWalksOfApplyFindGaps", Runs: 1}}},
		{Name: "long-gaps-forgotten", About: "a long gap is forgotten once there are many short ones",
			Edits:    []mutation.Edit{{Old: "if r.n > least {", New: "if r.n < least {"}},
			Catchers: []mutation.Catcher{{Test: "TestLongGapsAreKept", Runs: 1}}},
		{Name: "removed-messages-passed-again",
			About:    "walks in transactions pass the same removed messages again and again",
			Edits:    []mutation.Edit{{Old: "gaps.Run{Learned: r.learned, N: r.n, Gap:", New: "gaps.Run{N: r.n, Gap:"}},
			Catchers: []mutation.Catcher{{Test: "TestWalksOfApplyPassRemovedMessagesOnce", Runs: 1}}},
		{Name: "sides-from-the-top", About: "walks for a side of a list begin at the end of the list",
			Edits:    []mutation.Edit{{Old: "\th.High[side] = seq\n", New: "\th.High = [2]uint64{seq, seq}\n"}},
			Catchers: []mutation.Catcher{{Test: "TestWalksBeginAtTheirSide", Runs: 1}}},
		{Name: "edits-keep-blocks", About: "a message that was edited keeps the ids of its block in memory",
			Edits: []mutation.Edit{{Old: "r.ID, r.Data, r.Borrowed = strings.Clone(r.ID), bytes.Clone(r.Data), false",
				New: "r.ID, r.Data, r.Borrowed = r.ID+strings.Clone(\"\"), bytes.Clone(r.Data), false"}},
			Catchers: []mutation.Catcher{{Test: "TestKeptMessageLeavesItsBlock", Runs: 1}}},
		{Name: "moved-scores-passed",
			About: "a walk through a sorted set passes all places that its members had before",
			Edits: []mutation.Edit{{In: "(*Keys).DeleteElement", Old: "\tks.noteGap(h, name)\n",
				New: "\tif name[:1] != \"s\" {\n\t\tks.noteGap(h, name)\n\t}\n"}},
			Catchers: []mutation.Catcher{{Test: "TestRescoringPassesFewRemoved", Runs: 1}}},
	}
}

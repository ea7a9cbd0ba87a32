package main

// gapsMutants break what walks remember of removed elements.
func gapsMutants() []mutant {
	return []mutant{
		{Name: "gap-uncut", About: "an element that is added among removed ones is passed over with them",
			Edits:    []edit{{Old: "\t\th.gaps.Cut(layout.ElementKey(h.Inc, name))\n", New: ""}},
			Catchers: []catcher{{Test: "TestGapsHideNothing", Runs: 1}}},
		{Name: "erased-gap-uncut", About: "a key that is written again after a deletion by prefix is not listed",
			Edits:    []edit{{Old: "\tks.gaps.Cut(key)\n", New: ""}},
			Catchers: []catcher{{Test: "TestErasePassesDeletedKeysOnce", Runs: 1}}},
		{Name: "gaps-unlearned", About: "walks pass every removed element that is not flushed yet",
			Edits:    []edit{{Old: "|| ks.chance() >= gapChance {", New: "|| ks.chance() >= 0 {"}},
			Catchers: []catcher{{Test: "TestTakingFromAnEndPassesFewRemoved", Runs: 1}}},
		{Name: "gaps-not-learned", About: "walks in transactions pass the same removed elements again and again",
			Edits:    []edit{{Old: "\te.learned = &h.gaps\n", New: ""}},
			Catchers: []catcher{{Test: "TestWalksOfApplyFindGaps", Runs: 1}}},
		{Name: "long-gaps-forgotten", About: "a long gap is forgotten once there are many short ones",
			Edits:    []edit{{Old: "if r.n > least {", New: "if r.n < least {"}},
			Catchers: []catcher{{Test: "TestLongGapsAreKept", Runs: 1}}},
		{Name: "removed-messages-passed-again",
			About:    "walks in transactions pass the same removed messages again and again",
			Edits:    []edit{{Old: "gaps.Run{Learned: r.learned, N: r.n, Gap:", New: "gaps.Run{N: r.n, Gap:"}},
			Catchers: []catcher{{Test: "TestWalksOfApplyPassRemovedMessagesOnce", Runs: 1}}},
		{Name: "sides-from-the-top", About: "walks for a side of a list begin at the end of the list",
			Edits:    []edit{{Old: "\th.High[side] = seq\n", New: "\th.High = [2]uint64{seq, seq}\n"}},
			Catchers: []catcher{{Test: "TestWalksBeginAtTheirSide", Runs: 1}}},
		{Name: "edits-keep-blocks", About: "a message that was edited keeps the ids of its block in memory",
			Edits: []edit{{Old: "r.ID, r.Data, r.Borrowed = strings.Clone(r.ID), bytes.Clone(r.Data), false",
				New: "r.ID, r.Data, r.Borrowed = r.ID+strings.Clone(\"\"), bytes.Clone(r.Data), false"}},
			Catchers: []catcher{{Test: "TestKeptMessageLeavesItsBlock", Runs: 1}}},
		{Name: "moved-scores-passed",
			About: "a walk through a sorted set passes all places that its members had before",
			Edits: []edit{{In: "(*keyspace).DeleteElement", Old: "\tks.noteGap(h, name)\n",
				New: "\tif name[:1] != \"s\" {\n\t\tks.noteGap(h, name)\n\t}\n"}},
			Catchers: []catcher{{Test: "TestRescoringPassesFewRemoved", Runs: 1}}},
	}
}

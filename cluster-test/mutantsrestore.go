package main

// restoreMutants leave in memory what a state that came from another node replaces, or do
// not tell of it.
func restoreMutants() []mutant {
	return []mutant{
		{Name: "windows-outlive-restore", About: "ids are looked for in windows of before a restore",
			Edits:    []edit{{Old: "m.beginTable()\n\tm.windows.clear()", New: "m.beginTable()"}},
			Catchers: []catcher{{Test: "TestRestoreBringsIDs", Runs: 1}}},
		{Name: "tables-outlive-restore", About: "what was flushed last is read from memory after a restore, too",
			Edits:    []edit{{Old: "m.frozen, m.warm, m.sweep = nil, nil, sweep{}", New: "m.frozen, m.sweep = nil, sweep{}"}},
			Catchers: []catcher{{Test: "TestRestoreForgetsTables", Runs: 1}}},
		{Name: "gaps-outlive-restore", About: "walks pass over keys that came with a restore",
			Edits:    []edit{{Old: "m.keyGaps = gaps{}", New: ""}},
			Catchers: []catcher{{Test: "TestRestoreForgetsGaps", Runs: 1}}},
		{Name: "restored-and-awaited", About: "an entry that came with a restore is awaited until the next one is applied",
			Edits:    []edit{{Old: "m.waiters.wake(m.meta.index)", New: ""}},
			Catchers: []catcher{{Test: "TestRestoreIsTold", Runs: 1}}},
		{Name: "restored-and-unseen", About: "who follows a session is not told that a restore changed it",
			Edits:    []edit{{Old: "m.watches.notifyAll()", New: ""}},
			Catchers: []catcher{{Test: "TestRestoreIsTold", Runs: 1}}},
		{Name: "applied-and-awaited", About: "who waits for an entry is told when the next one is applied",
			Edits:    []edit{{Old: "w.heap[0].index <= applied", New: "w.heap[0].index < applied"}},
			Catchers: []catcher{{Test: "TestWaitApplied", Runs: 1}}},
		{Name: "directory-replaced", About: "a member is recorded under another directory, though it was not removed",
			Edits:    []edit{{Old: "known && !o.Remove && old.Incarnation != o.Incarnation", New: "known && !o.Remove && old.Incarnation == \"\""}},
			Catchers: []catcher{{Test: "TestMemberKeepsItsDirectory", Runs: 1}}},
		{Name: "learners-vote", About: "a leader that is cut off with learners alone takes them for a majority",
			Edits:    []edit{{In: "votersOf", Old: "case s.Suffrage != raft.Voter:", New: "case s.Suffrage == raft.Staging:"}},
			Catchers: []catcher{{Test: "TestVotersOf", Runs: 1}}},
		{Name: "damaged-copy-newer", About: "a second copy of the vote counts whatever its checksum says",
			Edits: []edit{{In: "openVoteCopy", Old: "|| binary.LittleEndian.Uint32(page[12:]) != voteCopySum(page)",
				New: "|| binary.LittleEndian.Uint32(page[12:]) == 0"}},
			Catchers: []catcher{{Test: "TestFlippedBitOfTheVoteCopy", Runs: 1}}},
		{Name: "cut-for-good", About: "once the end of the log was replaced, a full disk stops the node",
			Edits:    []edit{{In: "(*Store).StoreLogs", Old: "s.setCut(false)", New: "s.setCut(s.isCut())"}},
			Catchers: []catcher{{Test: "TestLogStoreFailsStop", Runs: 1}}},
		{Name: "prints-trusted", About: "an id counts as known if its fingerprint is",
			Edits:    []edit{{In: "(*Machine).lookupIn", Old: "ok && rec.id == id", New: "ok"}},
			Catchers: []catcher{{Test: "TestFingerprintsThatCollide", Runs: 1}}},
	}
}

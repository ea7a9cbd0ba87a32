package main

// restoreMutants leave in memory what a state that came from another node replaces, or do not tell of it.
func restoreMutants() []mutant {
	return []mutant{
		{Name: "windows-outlive-restore", About: "ids are looked for in windows of before a restore",
			Edits:    []edit{{Old: "m.beginMemtable()\n\tm.windows.clear()", New: "m.beginMemtable()"}},
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
		{Name: "restored-blocks-rolled-back", About: "when the store was replaced and the new one cannot be opened, its blocks are removed",
			Edits:    []edit{{In: "(*Machine).swapStore", Old: "m.removeFiles(nil)", New: ""}},
			Catchers: []catcher{{Test: "TestRestoredStateKeepsItsBlocks", Runs: 1}}},
		{Name: "snapshots-overlap", About: "two snapshots that finish at the same time may leave the older one",
			Edits:    []edit{{Old: "\ts.keeping.Lock()\n\tdefer s.keeping.Unlock()\n\treturn s.keepLocked(m)\n", New: "\treturn s.keepLocked(m)\n"}},
			Catchers: []catcher{{Test: "TestOverlappingSnapshotsLeaveTheNewer", Shows: []string{"of the snapshots at"}, Runs: 3}}},
		{Name: "log-cut-meanwhile", About: "the log is cut as usual while a snapshot of before is on its way",
			Edits:    []edit{{Old: "return n.snaps.Tail(usual)", New: "return usual"}},
			Catchers: []catcher{{Test: "TestLogStaysWhileASnapshotIsSent", Shows: []string{"the log begins at"}, Runs: 1}}},
		{Name: "dumps-unchecked", About: "a damaged snapshot is restored",
			Edits: []edit{
				{Old: "crc = crc32.Update(crc, castagnoli, buf); crc != want {", New: "crc = crc32.Update(crc, castagnoli, buf); buf == nil && want == 0 {"},
				{Old: "crc32.Update(crc, castagnoli, make([]byte, 4)) != want {", New: "buf == nil && want == 0 {"}},
			Catchers: []catcher{{Test: "TestDamagedDumpIsRefused", Runs: 1}}},
	}
}

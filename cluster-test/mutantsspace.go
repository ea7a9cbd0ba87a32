package main

// spaceMutants break what a node does without disk space.
func spaceMutants() []mutant {
	return []mutant{
		{Name: "half-empty-for-good",
			About: "on a full disk, too, a block file is emptied only when a third of it is in use",
			Edits: []edit{{Old: "return worth{sparseWhenShort, s.left.Load() / 2, s.files.FileBytes() / 16, true}",
				New: "return worth{sparse, s.left.Load() / 2, 0, true}"}},
			Catchers: []catcher{{Test: "TestFilesAreEmptiedSoonerOnAFullDisk", Runs: 1}}},
		{Name: "full-for-good", About: "a full disk rejects what would free space, too",
			Edits:    []edit{{Old: "\treturn turn.Frees(op)\n", New: "\treturn false\n"}},
			Catchers: []catcher{{Test: "TestFullDiskCanBeEmptied", Runs: 1}}},
		{Name: "own-disk-only", About: "a leader decides by the space on its own disk alone",
			Edits: []edit{{Old: "\tif well >= quorum || len(reports) < quorum || first == \"\" {",
				New: "\tif well >= 0 || len(reports) < quorum {"}},
			Catchers: []catcher{{Test: "TestFollowersWithoutSpace", Runs: 1}}},
		{Name: "full-leader-stays", About: "a leader without disk space goes on leading, though others have space",
			Edits:    []edit{{Old: "\t\tif v.handOver(ctx) {\n\t\t\treturn\n\t\t}\n", New: ""}},
			Catchers: []catcher{{Test: "TestLeaderWithoutSpaceHandsOver", Runs: 1}}},
		{Name: "inodes-unseen", About: "a disk without inodes counts as one with space",
			Edits:    []edit{{Old: "case bounded && files < inodes:", New: "case bounded && files < inodes && false:"}},
			Catchers: []catcher{{Test: "TestNoInodes", Runs: 1}}},
		{Name: "unknown-disk-has-space",
			About: "a voter that is connected and has never told of its disk counts as one with space",
			Edits: []edit{{In: "(*voterSpace).ask", Old: "ok && v.cfg.Cluster.Connected(id)",
				New: "(ok || !ok) && v.cfg.Cluster.Connected(id)"}},
			Catchers: []catcher{{Test: "TestUnknownVotersHaveNoSpace", Runs: 1}}},
		{Name: "own-decision-kept", About: "a node that leads no more goes on rejecting writes, as it decided",
			Edits:    []edit{{Old: "v.heard.Store(0)\n", New: ""}},
			Catchers: []catcher{{Test: "TestDecisionsAreForgotten", Runs: 1}}},
		{Name: "time-entry-each-second", About: "without disk space, each look at the disks takes a log entry",
			Edits:    []edit{{Old: "v.tick = time.Now().Add(moveTimeEvery)\n", New: ""}},
			Catchers: []catcher{{Test: "TestTimeGoesOnWithoutSpace", Runs: 1}}},
	}
}

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
	}
}

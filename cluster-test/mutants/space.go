package mutants

import "github.com/turnlog/turnlog/cluster-test/mutation"

// spaceMutants break what a node does without disk space.
func spaceMutants() []mutation.Mutant {
	return []mutation.Mutant{
		{Name: "removal-frees-nothing", About: "a full disk refuses to remove a message",
			Edits:    []mutation.Edit{{In: "Frees", Old: "*RemoveMessage, ", New: ""}},
			Catchers: []mutation.Catcher{{Test: "TestFrees", Runs: 1}}},
		{Name: "given-up-for-ever", About: "a store that finds no space for another file tries to make one for ever",
			Edits:    []mutation.Edit{{In: "(*blockSpace).giveUpCurrent", Old: "s.worth.current = false", New: ""}},
			Catchers: []mutation.Catcher{{Test: "TestLastFileIsEmptiedWhenThereIsSpaceForTheNext", Runs: 1}}},
		{Name: "half-empty-for-good",
			About: "on a full disk, too, a block file is emptied only when a third of it is in use",
			Edits: []mutation.Edit{{Old: "return worth{sparseWhenShort, s.left.Load() / 2, s.files.FileBytes() / 16, " +
				"true}",
				New: "return worth{sparse, s.left.Load() / 2, 0, true}"}},
			Catchers: []mutation.Catcher{{Test: "TestFilesAreEmptiedSoonerOnAFullDisk", Runs: 1}}},
		{Name: "full-for-good", About: "a full disk rejects what would free space, too",
			Edits:    []mutation.Edit{{Old: "\treturn turn.Frees(op)\n", New: "\treturn false\n"}},
			Catchers: []mutation.Catcher{{Test: "TestFullDiskCanBeEmptied", Runs: 1}}},
		{Name: "own-disk-only", About: "a leader decides by the space on its own disk alone",
			Edits: []mutation.Edit{{Old: "\tif well >= quorum || len(reports) < quorum || first == \"\" {",
				New: "\tif well >= 0 || len(reports) < quorum {"}},
			Catchers: []mutation.Catcher{{Test: "TestFollowersWithoutSpace", Runs: 1}}},
		{Name: "full-leader-stays", About: "a leader without disk space goes on leading, though others have space",
			Edits:    []mutation.Edit{{Old: "\t\tif v.handOver(ctx) {\n\t\t\treturn\n\t\t}\n", New: ""}},
			Catchers: []mutation.Catcher{{Test: "TestLeaderWithoutSpaceHandsOver", Runs: 1}}},
		{Name: "inodes-unseen", About: "a disk without inodes counts as one with space",
			Edits: []mutation.Edit{{Old: "case bounded && files < inodes:",
				New: "case bounded && files < inodes && false:"}},
			Catchers: []mutation.Catcher{{Test: "TestNoInodes", Runs: 1}}},
		{Name: "unknown-disk-has-space",
			About: "a voter that is connected and has never told of its disk counts as one with space",
			Edits: []mutation.Edit{{In: "(*voterSpace).ask", Old: "ok && v.cfg.Cluster.Connected(id)",
				New: "(ok || !ok) && v.cfg.Cluster.Connected(id)"}},
			Catchers: []mutation.Catcher{{Test: "TestUnknownVotersHaveNoSpace", Runs: 1}}},
		{Name: "own-decision-kept", About: "a node that leads no more goes on rejecting writes, as it decided",
			Edits:    []mutation.Edit{{Old: "v.heard.Store(0)\n", New: ""}},
			Catchers: []mutation.Catcher{{Test: "TestDecisionsAreForgotten", Runs: 1}}},
		{Name: "time-entry-each-second", About: "without disk space, each look at the disks takes a log entry",
			Edits:    []mutation.Edit{{Old: "v.tick = time.Now().Add(moveTimeEvery)\n", New: ""}},
			Catchers: []mutation.Catcher{{Test: "TestTimeGoesOnWithoutSpace", Runs: 1}}},
	}
}

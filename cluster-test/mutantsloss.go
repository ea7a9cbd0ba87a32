package main

import "time"

// lossMutants have a node forget what it promised before it lost data.
func lossMutants() []mutant {
	return []mutant{
		{Name: "mark-unwritten", About: "the log's high-water mark is not written",
			Edits:    []edit{{Old: "\t\ts.cfg.Mark.Reached(Position{logs[n-1].Index, logs[n-1].Term})\n", New: ""}},
			Catchers: []catcher{{Test: "TestRottenTailIsNotATornOne", Runs: 1}}},
		{Name: "mark-lowered", About: "a snapshot that ends before the log's mark lowers it when the node starts",
			Edits: []edit{{Old: "\t\treturn s.engine.Reset(index + 1)\n\t}\n\treturn s.engine.TruncateBefore(index + 1)",
				New: "\t\ts.cfg.Mark.cut(Position{index, term})\n\t\treturn s.engine.Reset(index + 1)\n\t}\n\treturn s.engine.TruncateBefore(index + 1)"}},
			Catchers: []catcher{{Test: "TestOlderCopyOfTheLogLosesNothing", Runs: 1}}},
		{Name: "acknowledged-before-asking", About: "a node that has not yet heard what others have seen of it acknowledges entries",
			Edits:    []edit{{In: "(*ballot).follows", Old: "if err := b.ready(); err != nil || b.same == nil {", New: "if err := error(nil); b.same == nil {"}},
			Catchers: []catcher{{Test: "TestNoVoteBeforeTheOthersAnswer", Runs: 1}}},
		{Name: "no-way-out-of-doubt", About: "nodes that were restored from copies of different times do not say how to go on",
			Edits:    []edit{{Old: "\t\t\treasons = append(reasons, n.howToElect())\n", New: "\t\t\t_ = n.howToElect\n"}},
			Catchers: []catcher{{Test: "TestRollingBackupIsRestored", Runs: 1}}},
		{Name: "lost-and-voting", About: "a node that lost the end of its log votes as if nothing had been there",
			Edits:    []edit{{Old: "missing && !l.Covers(end) {", New: "missing && l.Covers(end) && false {"}},
			Catchers: []catcher{{Test: "TestRotInTheLastBatchLosesNothing", Runs: 1}}},
		{Name: "lost-and-standing", About: "a node that lost the end of its log stands for election as if nothing had been there",
			Edits:    []edit{{Old: "missing {\n\t\treturn fmt.Errorf(\"this node's log has lost %v\", l)", New: "missing && false {\n\t\treturn fmt.Errorf(\"this node's log has lost %v\", l)"}},
			Catchers: []catcher{{Scenario: "damage", Time: 15 * time.Second, Nemesis: "rot-tail", Workloads: "append,cas", Shows: []string{"lost", "two values", "committed"}, Runs: 4}}},
		{Name: "older-copy-unnoticed", About: "a node does not mind that others have seen more of it",
			Edits:    []edit{{Old: "if had.Before(seen.position()) || promised < seen.Promised {", New: "if had.Before(seen.position()) && promised == 0 {"}},
			Catchers: []catcher{{Test: "TestOlderCopyOfANodeLosesNothing", Runs: 1}}},
		{Name: "doubt-ignored", About: "what others have seen of a node that lost data is taken for all that there was",
			Edits:    []edit{{Old: "\tif l.Doubt > 0 {\n\t\treturn end.Term > l.Doubt\n\t}\n", New: ""}},
			Catchers: []catcher{{Test: "TestOlderCopyOfANodeLosesNothing", Runs: 1}}},
		{Name: "earlier-start-counted", About: "what a node acknowledged before its last start counts, although it was told what was seen of it without that",
			Edits:    []edit{{Old: "if s.boots[id] != by {", New: "if s.boots[id] != by && s == nil {"}},
			Catchers: []catcher{{Test: "TestAcknowledgementOfAnEarlierStart", Runs: 1}}},
		{Name: "lost-log-votes", About: "a node whose damaged log was replaced votes as if it had lost nothing",
			Edits: []edit{{Old: "err = n.mark.NoteLoss(raftlog.Loss{Had: n.mark.Position(), Doubt: n.stable.Promised()})", New: "err = nil"},
				{Old: "\thad, by := n.mark.Position(), raftlog.MarkName\n", New: "\thad, by := raftlog.Position{}, raftlog.MarkName\n"}},
			Catchers: []catcher{{Test: "TestDamagedLogLosesNothing", Runs: 1}}},
		{Name: "old-leader-trusted", About: "a leader of an older version, which does not know what a node acknowledged, ends its doubt",
			Edits:    []edit{{Old: "\t\tanswered[id] = false\n", New: "\t\tanswered[id] = true\n"}},
			Catchers: []catcher{{Test: "TestOldLeaderEndsNoDoubt", Runs: 1}}},
		{Name: "others-terms-ignored", About: "a node that starts may vote in a term that another member is in already",
			Edits:    []edit{{Old: "\tb.floor = max(b.floor, term)\n", New: ""}},
			Catchers: []catcher{{Test: "TestAnswersOfOthers", Runs: 1}}},
	}
}

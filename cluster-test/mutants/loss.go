package mutants

import (
	"time"

	"github.com/turnlog/turnlog/cluster-test/mutation"
)

// lossMutants have a node forget what it promised before it lost data.
func lossMutants() []mutation.Mutant {
	return []mutation.Mutant{
		{Name: "mark-unwritten", About: "the log's high-water mark is not written",
			Edits: []mutation.Edit{{In: "(*Store).store", Old: "s.cfg.Mark.Reached(Position{last.Index, last.Term})",
				New: "_ = last"}},
			Catchers: []mutation.Catcher{{Test: "TestRottenTailIsNotATornOne", Runs: 1}}},
		{Name: "mark-lowered", About: "a snapshot that ends before the log's mark lowers it when the node starts",
			Edits: []mutation.Edit{{Old: "\t\treturn s.engine.Reset(index + 1)\n\t}\n" +
				"\treturn s.engine.TruncateBefore(index + 1)",
				New: "\t\ts.cfg.Mark.cut(Position{index, term})\n\t\treturn s.engine.Reset(index + 1)\n\t}\n" +
					"\treturn s.engine.TruncateBefore(index + 1)"}},
			Catchers: []mutation.Catcher{{Test: "TestOlderCopyOfTheLogLosesNothing", Runs: 1}}},
		{Name: "acknowledged-before-asking",
			About: "a node that has not yet heard what others have seen of it acknowledges entries",
			Edits: []mutation.Edit{{In: "(*Ballot).follows",
				Old: "if err := b.Ready(); err != nil || b.cfg.Same == nil {",
				New: "if err := error(nil); b.cfg.Same == nil {"}},
			Catchers: []mutation.Catcher{{Test: "TestNoVoteBeforeTheOthersAnswer", Runs: 1}}},
		{Name: "no-way-out-of-doubt",
			About: "nodes that were restored from copies of different times do not say how to go on",
			Edits: []mutation.Edit{{Old: "\t\t\treasons = append(reasons, n.detector.HowToElect())\n",
				New: "\t\t\t_ = n.detector.HowToElect\n"}},
			Catchers: []mutation.Catcher{{Test: "TestRollingBackupIsRestored", Runs: 1}}},
		{Name: "lost-and-voting", About: "a node that lost the end of its log votes as if nothing had been there",
			Edits:    []mutation.Edit{{Old: "missing && !l.Covers(end) {", New: "missing && l.Covers(end) && false {"}},
			Catchers: []mutation.Catcher{{Test: "TestRotInTheLastBatchLosesNothing", Runs: 1}}},
		{Name: "lost-and-standing",
			About: "a node that lost the end of its log stands for election as if nothing had been there",
			Edits: []mutation.Edit{{Old: "missing {\n\t\treturn fmt.Errorf(\"this node's log has lost %v\", l)",
				New: "missing && false {\n\t\treturn fmt.Errorf(\"this node's log has lost %v\", l)"}},
			Catchers: []mutation.Catcher{{Scenario: "damage", Time: 15 * time.Second, Nemesis: "rot-tail",
				Workloads: "append,cas", Shows: []string{"lost", "two values", "committed"}, Runs: 4}}},
		{Name: "older-copy-unnoticed", About: "a node does not mind that others have seen more of it",
			Edits: []mutation.Edit{{Old: "if had.Before(seen.Position()) || promised < seen.Promised {",
				New: "if had.Before(seen.Position()) && promised == 0 {"}},
			Catchers: []mutation.Catcher{{Test: "TestOlderCopyOfANodeLosesNothing", Runs: 1}}},
		{Name: "doubt-ignored", About: "what others have seen of a node that lost data is taken for all that there was",
			Edits:    []mutation.Edit{{Old: "\tif l.Doubt > 0 {\n\t\treturn end.Term > l.Doubt\n\t}\n", New: ""}},
			Catchers: []mutation.Catcher{{Test: "TestOlderCopyOfANodeLosesNothing", Runs: 1}}},
		{Name: "earlier-start-counted",
			About: "what a node acknowledged before its last start counts, although it was told what was seen of " +
				"it without that",
			Edits:    []mutation.Edit{{Old: "if s.starts[id] != by {", New: "if s.starts[id] != by && s == nil {"}},
			Catchers: []mutation.Catcher{{Test: "TestAcknowledgementOfAnEarlierStart", Runs: 1}}},
		{Name: "lost-log-votes", About: "a node whose damaged log was replaced votes as if it had lost nothing",
			Edits: []mutation.Edit{{Old: "err = d.Mark.NoteLoss(raftlog.Loss{Had: d.Mark.Position(), Doubt: " +
				"d.Vote.Promised()})", New: "err = nil"},
				{Old: "\thad, by := d.Mark.Position(), raftlog.MarkName\n",
					New: "\thad, by := raftlog.Position{}, raftlog.MarkName\n"}},
			Catchers: []mutation.Catcher{{Test: "TestDamagedLogLosesNothing", Runs: 1}}},
		{Name: "old-leader-trusted",
			About:    "a leader of an older version, which does not know what a node acknowledged, ends its doubt",
			Edits:    []mutation.Edit{{Old: "\t\tanswered[id] = false\n", New: "\t\tanswered[id] = true\n"}},
			Catchers: []mutation.Catcher{{Test: "TestOldLeaderEndsNoDoubt", Runs: 1}}},
		{Name: "others-terms-ignored", About: "a node that starts may vote in a term that another member is in already",
			Edits:    []mutation.Edit{{Old: "\tb.floor = max(b.floor, term)\n", New: ""}},
			Catchers: []mutation.Catcher{{Test: "TestAnswersOfOthers", Runs: 1}}},
	}
}

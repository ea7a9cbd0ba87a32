package mutants

import (
	"time"

	"github.com/turnlog/turnlog/cluster-test/mutation"
)

// idsMutants break how a retry is recognised.
func idsMutants() []mutation.Mutant {
	return []mutation.Mutant{
		{Name: "two-sessions-one-append",
			About: "messages of a deleted session and of the next one are taken for one append",
			Edits: []mutation.Edit{{In: "(*Operations).Duplicate", Old: "here == before.Next()",
				New: "here.Seq == before.Seq+1"}},
			Catchers: []mutation.Catcher{{Test: "TestIDsOfTwoSessionsAreNoAppend", Runs: 1}}},
		{Name: "edit-forgets-first-payload", About: "a retry of the append of an edited message is a reused id",
			Edits: []mutation.Edit{{In: "Record.Edited", Old: "r.ID != \"\" && r.Original == nil",
				New: "r.ID != \"\" && r.Original == nil && false"}},
			Catchers: []mutation.Catcher{{Test: "TestRetryLeavesEditsAlone", Runs: 1},
				{Test: "TestAgainstModel", Runs: 1}}},
		{Name: "removed-message-found", About: "a message that was removed is edited by its id",
			Edits: []mutation.Edit{{In: "(*Operations).messageByID",
				Old: "case ok && v.Live(&known):", New: "case ok:"},
				{In: "(*Operations).messageByID", Old: "\tcase ok:\n\t\treturn v.MovedTo(h.Moves, known.Seq, id)\n",
					New: ""}},
			Catchers: []mutation.Catcher{{Test: "TestRepeatedEditChangesNothing", Runs: 1}}},
		{Name: "repeated-edit-conflicts", About: "an edit that changes nothing raises the session's revision",
			Edits: []mutation.Edit{{In: "(*Operations).edit", Old: "!bytes.Equal(rec.Data, data)",
				New: "true || !bytes.Equal(rec.Data, data)"}},
			Catchers: []mutation.Catcher{{Test: "TestRepeatedEditChangesNothing", Runs: 1},
				{Test: "TestAgainstModel", Runs: 1}}},
		{Name: "search-for-ids-free", About: "a message is searched for through any number of others",
			Edits: []mutation.Edit{{In: "(*Operations).message", Old: "s.Allowance.Bound(&v)", New: ""},
				{In: "(*Operations).message", Old: "paid := s.Allowance.Searched(&v)",
					New: "paid := s.Allowance.Search()"}},
			Catchers: []mutation.Catcher{{Test: "TestSearchForAnIDIsBounded", Runs: 1}}},
		{Name: "edits-use-up-the-window",
			About:    "messages that an edit of the list moves count among the last 1,024 whose ids are remembered",
			Edits:    []mutation.Edit{{Old: "counted := h.LastID == 0", New: "counted := true"}},
			Catchers: []mutation.Catcher{{Test: "TestListEditsKeepIDs", Runs: 1}}},
		{Name: "moves-dropped", About: "what an edit of the list moved is forgotten when no id is remembered, though " +
			"one may come",
			Edits: []mutation.Edit{{Old: "\th.Moves = h.Moves.With(to)\n",
				New: "\tif h.Moves = h.Moves.With(to); h.LastID < h.Moves.WindowStart(h.Last) {\n" +
					"\t\th.Moves.Runs = nil\n\t}\n"}},
			Catchers: []mutation.Catcher{{Test: "TestMovesOutlastAWindowWithoutIDs", Runs: 1},
				{Test: "TestAgainstModelFarBack", Runs: 1}}},
		{Name: "replaced-payloads-for-ids",
			About:    "a message whose payload was replaced is known by its id with that one",
			Edits:    []mutation.Edit{{Old: "if r.ID != \"\" && r.Original == nil {", New: "if false {"}},
			Catchers: []mutation.Catcher{{Test: "TestReplacedElementKeepsItsPlace", Runs: 1}}},
		{Name: "ids-forgotten", About: "a message id that is known is not recognised",
			Edits: []mutation.Edit{{In: "(*Operations).Duplicate", Old: "case known == 0:", New: "case known >= 0:"}},
			Catchers: []mutation.Catcher{{Scenario: "lost-replies", Time: 6 * time.Second, Nemesis: "lost-replies",
				Workloads: "append,turns",
				Shows:     []string{"two values", "doubled", "false duplicate"}, Runs: 3}, simulation(10)}},
		{Name: "ids-forgotten-with-ttl", About: "an append that sets a deadline does not look for its ids",
			Edits: []mutation.Edit{{Old: "\t\tif ms[i].ID == \"\" {\n\t\t\tcontinue\n\t\t}\n" +
				"\t\trec, inc, err := messages.Find(ms[i].ID)",
				New: "\t\tif ms[i].ID == \"\" || h != nil && h.Deadline != 0 {\n\t\t\tcontinue\n\t\t}\n" +
					"\t\trec, inc, err := messages.Find(ms[i].ID)"}},
			Catchers: []mutation.Catcher{{Scenario: "lost-replies", Time: 8 * time.Second, Nemesis: "lost-replies",
				Workloads: "ttl",
				Shows:     []string{"not linearizable"}, Runs: 3}}},
		{Name: "forgotten-window", About: "ids are looked for in a window that was forgotten",
			Edits:    []mutation.Edit{{Old: "if kept == nil || kept.forgotten {", New: "if kept == nil {"}},
			Catchers: []mutation.Catcher{{Test: "TestForgottenWindowIsNotAsked", Runs: 1}}},
		{Name: "prints-trusted", About: "an id counts as known if its fingerprint is",
			Edits:    []mutation.Edit{{In: "(*IDs).lookupIn", Old: "ok && rec.ID == id", New: "ok"}},
			Catchers: []mutation.Catcher{{Test: "TestFingerprintsThatCollide", Runs: 1}}},
		{Name: "replace-condition-first", About: "a replacement that is sent again is refused by its condition",
			Edits: []mutation.Edit{{In: "(*Operations).replace",
				Old: "if dup, err := s.Duplicate(key, h, o.Messages, r); dup || err != nil {",
				New: "if err := CheckExpect(o.Expect, h); err != nil {\n\t\treturn err\n\t}\n" +
					"\tif dup, err := s.Duplicate(key, h, o.Messages, r); dup || err != nil {"}},
			Catchers: []mutation.Catcher{{Test: "TestReplaceSentAgain", Runs: 1}}},
		{Name: "retry-told-of-now", About: "the retry of an append is told the session's present revision",
			Edits: []mutation.Edit{{Old: "\tr.Revision = revision\n\tif h != nil {\n",
				New: "\tif r.Revision = revision; h != nil {\n\t\tr.Revision = h.Revision\n"}},
			Catchers: []mutation.Catcher{{Test: "TestRetryHearsTheRevisionOfItsAppend", Runs: 1},
				{Test: "TestAgainstModel", Runs: 1},
				{Scenario: "lost-replies", Time: 6 * time.Second, Nemesis: "lost-replies",
					Workloads: "append,turns,cas", Shows: []string{"revision of a retry"}, Runs: 2}}},
	}
}

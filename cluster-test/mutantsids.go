package main

import "time"

// idsMutants break how a retry is recognised.
func idsMutants() []mutant {
	return []mutant{
		{Name: "edits-use-up-the-window", About: "messages that an edit of the list moves count among the last 1,024 whose ids are remembered",
			Edits:    []edit{{Old: "counted := m.level() < turn.Level1 || h.LastID == 0", New: "counted := true"}},
			Catchers: []catcher{{Test: "TestListEditsKeepIDs", Runs: 1}}},
		{Name: "moves-dropped", About: "what an edit of the list moved is forgotten when no id is remembered, though one may come",
			Edits: []edit{{Old: "\t\th.Moves = h.Moves.With(layout.Span{From: first, To: h.Last})\n",
				New: "\t\tif h.Moves = h.Moves.With(layout.Span{From: first, To: h.Last}); h.LastID < h.Moves.WindowStart(h.Last) {\n\t\t\th.Moves.Runs = nil\n\t\t}\n"}},
			Catchers: []catcher{{Test: "TestMovesOutlastAWindowWithoutIDs", Runs: 1}, {Test: "TestAgainstModelFarBack", Runs: 1}}},
		{Name: "replaced-payloads-for-ids", About: "a message whose payload was replaced is known by its id with that one",
			Edits:    []edit{{Old: "if r.ID != \"\" && r.Original == nil {", New: "if false {"}},
			Catchers: []catcher{{Test: "TestReplacedElementKeepsItsPlace", Runs: 1}}},
		{Name: "ids-forgotten", About: "a message id that is known is not recognised",
			Edits: []edit{{In: "(*Machine).duplicate", Old: "case known == 0:", New: "case known >= 0:"}},
			Catchers: []catcher{{Scenario: "lost-replies", Time: 6 * time.Second, Nemesis: "lost-replies", Workloads: "append,turns",
				Shows: []string{"two values", "doubled", "false duplicate"}, Runs: 3}, simulation(10)}},
		{Name: "ids-forgotten-with-ttl", About: "an append that sets a deadline does not look for its ids",
			Edits: []edit{{Old: "\t\tif ms[i].ID == \"\" {\n\t\t\tcontinue\n\t\t}\n\t\trec, inc, err := ids.find(ms[i].ID)",
				New: "\t\tif ms[i].ID == \"\" || h != nil && h.Deadline != 0 {\n\t\t\tcontinue\n\t\t}\n\t\trec, inc, err := ids.find(ms[i].ID)"}},
			Catchers: []catcher{{Scenario: "lost-replies", Time: 8 * time.Second, Nemesis: "lost-replies", Workloads: "ttl",
				Shows: []string{"not linearizable"}, Runs: 3}}},
		{Name: "forgotten-window", About: "ids are looked for in a window that was forgotten",
			Edits:    []edit{{Old: "if h.window == nil || h.window.forgotten {", New: "if h.window == nil {"}},
			Catchers: []catcher{{Test: "TestForgottenWindowIsNotAsked", Runs: 1}}},
		{Name: "prints-trusted", About: "an id counts as known if its fingerprint is",
			Edits:    []edit{{In: "(*Machine).lookupIn", Old: "ok && rec.ID == id", New: "ok"}},
			Catchers: []catcher{{Test: "TestFingerprintsThatCollide", Runs: 1}}},
		{Name: "replace-condition-first", About: "a replacement that is sent again is refused by its condition",
			Edits: []edit{{In: "(*Machine).replace", Old: "if dup, err := m.duplicate(key, h, o.Messages, r); dup || err != nil {",
				New: "if err := checkExpect(o.Expect, h); err != nil {\n\t\treturn err\n\t}\n\tif dup, err := m.duplicate(key, h, o.Messages, r); dup || err != nil {"}},
			Catchers: []catcher{{Test: "TestReplaceSentAgain", Runs: 1}}},
		{Name: "retry-told-of-now", About: "the retry of an append is told the session's present revision",
			Edits: []edit{{In: "(*Machine).revisionThen", Old: "return then", New: "\t\tif h != nil {\n\t\t\treturn h.Revision\n\t\t}\n\t\treturn 0\n"}},
			Catchers: []catcher{{Test: "TestRetryHearsTheRevisionOfItsAppend", Runs: 1}, {Test: "TestAgainstModel", Runs: 1},
				{Scenario: "lost-replies", Time: 6 * time.Second, Nemesis: "lost-replies", Workloads: "append,turns,cas", Shows: []string{"revision of a retry"}, Runs: 2}}},
	}
}

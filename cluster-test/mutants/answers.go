package mutants

import (
	"time"

	"github.com/turnlog/turnlog/cluster-test/mutation"
)

// answersMutants break what callers are told.
func answersMutants() []mutation.Mutant {
	return []mutation.Mutant{
		{Name: "sent-and-unchanged", About: "a command whose request was sent says that nothing was changed",
			Edits:    []mutation.Edit{{Old: "if sent.Load() {", New: "if sent.Load() && false {"}},
			Catchers: []mutation.Catcher{{Test: "TestAdminOutcomes", Runs: 1}}},
		{Name: "part-unsaid", About: "an import that fails does not say what it has added",
			Edits: []mutation.Edit{{Old: "err == nil || added+described == 0 {",
				New: "err == nil || added+described >= 0 {"}},
			Catchers: []mutation.Catcher{{Test: "TestPartialOutcomes", Runs: 1}}},
		{Name: "busy-said-to-be-none",
			About: "a caller whose call waited behind others is told that there was no leader",
			Edits: []mutation.Edit{{Old: "if t.led || t.now().Sub(t.resolved) < t.bounds.LeaderWait/2 {",
				New: "if t.led {"}},
			Catchers: []mutation.Catcher{{Test: "TestBusyLeaderIsNotSaidToBeNone", Runs: 1}}},
		{Name: "leader-forgotten",
			About:    "a caller whose call waited behind what the leader proposed is told that there was none",
			Edits:    []mutation.Edit{{In: "(*Calls).rewind", Old: "\tt.led = true\n", New: ""}},
			Catchers: []mutation.Catcher{{Test: "TestUnsentCallSaysWhy", Runs: 1}}},
		{Name: "no-leader-at-once",
			About: "a node says now and then that there is no leader, without waiting for one",
			Edits: []mutation.Edit{{Old: "\tif why := n.space.Rejects(op); why != nil {",
				New: "\tif len(b) > 0 && b[len(b)-1]%8 == 1 {\n" +
					"\t\treturn n.writes.calls.Failed(unavailable(\"no leader\"))\n\t}\n" +
					"\tif why := n.space.Rejects(op); why != nil {"}},
			Catchers: []mutation.Catcher{{Scenario: "leader-kill", Time: 8 * time.Second, Workloads: "append,mixed",
				Shows: []string{"refused at once"}, Runs: 1}}},
		{Name: "absent-rank-is-no-array",
			About: "ZRANK with WITHSCORE of an absent member answers with another null than Redis",
			Edits: []mutation.Edit{{Old: "case !r.Found && withScore:",
				New: "case !r.Found && withScore && false:"}},
			Catchers: []mutation.Catcher{{Test: "TestRankWithScore", Runs: 1}}},
		{Name: "info-in-no-transaction", About: "INFO is refused in a transaction",
			Edits:    []mutation.Edit{{In: "info", Old: "if c.tx.Open() {", New: "if c.tx.Open() && false {"}},
			Catchers: []mutation.Catcher{{Test: "TestInfoInTransaction", Runs: 1}}},
	}
}

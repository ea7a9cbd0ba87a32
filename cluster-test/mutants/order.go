package mutants

import (
	"time"

	"github.com/turnlog/turnlog/cluster-test/mutation"
)

// orderMutants have calls overtake one another.
func orderMutants() []mutation.Mutant {
	return []mutation.Mutant{
		{Name: "batches-overtake",
			About: "a leader takes a forwarded batch though it refused the one before it in its session",
			Edits: []mutation.Edit{{Old: "if s.id != f.Session || s.next != f.Place {",
				New: "if s.id != f.Session {"}},
			Catchers: []mutation.Catcher{{Test: "TestForwardedBatchesKeepTheirPlaces", Runs: 1}}},
		{Name: "entries-overtake",
			About: "an entry is given to Raft before the one ahead of it has its place in the log",
			Edits: []mutation.Edit{{Old: "p.held > 0 || p.entering != nil ||", New: "p.held > 0 ||"}},
			Catchers: []mutation.Catcher{{Test: "TestNextEntryWaitsForItsTurn",
				Shows: []string{"while another was not in the log"}, Runs: 1}}},
		{Name: "resent-backwards",
			About: "calls that are sent again after a change of leader are sent in the opposite order",
			Edits: []mutation.Edit{{Old: "\tif len(b.calls) == 0 {\n\t\treturn nil\n\t}\n\treturn b\n",
				New: "\tif len(b.calls) == 0 {\n\t\treturn nil\n\t}\n" +
					"\tfor i, j := 0, len(b.calls)-1; b.calls[0].exposed && i < j; i, j = i+1, j-1 {\n" +
					"\t\tb.commands[i], b.commands[j] = b.commands[j], b.commands[i]\n\t}\n\treturn b\n"}},
			// where a leader hands over, nothing is sent again
			Catchers: []mutation.Catcher{{Scenario: "leader-kill", Time: 12 * time.Second, Workloads: "pipeline",
				Rate:  3000,
				Shows: []string{"pipelined calls changed order"}, Runs: 5}}},
		{Name: "session-outlives-term", About: "a leader that leads again goes on with a session of forwarded batches",
			Edits:    []mutation.Edit{{In: "(*Inbox).Take", Old: "}, s.term)", New: "}, nil)"}},
			Catchers: []mutation.Catcher{{Test: "TestForwardingSessionEndsWithTheTerm", Runs: 1}}},
		{Name: "doubts-unsettled",
			About: "a read behind a write with an unknown outcome does not wait until that is decided",
			Edits: []mutation.Edit{{In: "(*Doubts).settle", Old: "if noted == d.settled.Load() {",
				New: "if true || noted == d.settled.Load() {"}},
			Catchers: []mutation.Catcher{{Test: "TestReadsAreConclusiveAfterAnUnknownOutcome", Runs: 1}}},
		{Name: "blocks-unsettled",
			About: "a blocking pop behind a write with an unknown outcome does not wait until that is decided",
			Edits: []mutation.Edit{{Old: "return &Wait{Run: t.run, Linearizable: true}",
				New: "return &Wait{Run: t.run}"}},
			Catchers: []mutation.Catcher{{Test: "TestCommandsBehindAnUnknownOutcome", Runs: 1}}},
		{Name: "scans-unsettled",
			About: "a scan behind a write with an unknown outcome does not wait until that is decided",
			Edits: []mutation.Edit{{Old: "return &Work{Run: run, Linearizable: true}",
				New: "return &Work{Run: run}"}},
			Catchers: []mutation.Catcher{{Test: "TestCommandsBehindAnUnknownOutcome", Runs: 1}}},
		{Name: "reads-go-back", About: "of two reads of a key in a pipeline, the second one may show an older state",
			Edits: []mutation.Edit{{Old: "answered && t.Repeatable && seen.Oldest < newest",
				New: "answered && t.Repeatable && false"}},
			Catchers: []mutation.Catcher{{Test: "TestReadsOfAKeyGoForward", Runs: 1}}},
	}
}

package mutants

import (
	"time"

	"github.com/turnlog/turnlog/cluster-test/mutation"
)

// windowMutants break what is remembered of ids.
func windowMutants() []mutation.Mutant {
	return []mutation.Mutant{
		{Name: "window-halved-by-restarts", About: "a node that was started again knows half of the ids of a session",
			Edits: []mutation.Edit{{Old: "\tw := x.windows.Add(of.inc, of.moves.Ordinal(start))\n",
				New: "\tif of.last-start > 512 {\n\t\tstart = of.last - 511\n\t}\n\tw := x.windows.Add(of.inc, of.moves.Ordinal(start))\n"}},
			Catchers: []mutation.Catcher{{Scenario: "window", Time: 20 * time.Second, Nemesis: "kill-all",
				Shows: []string{"doubled", "two values", "states differ"}, Runs: 5}}},
	}
}

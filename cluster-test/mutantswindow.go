package main

import "time"

// windowMutants break what is remembered of ids.
func windowMutants() []mutant {
	return []mutant{
		{Name: "window-halved-by-restarts", About: "a node that was started again knows half of the ids of a session",
			Edits: []edit{{Old: "\tw := x.windows.Add(of.inc, of.moves.Ordinal(start))\n",
				New: "\tif of.last-start > 512 {\n\t\tstart = of.last - 511\n\t}\n\tw := x.windows.Add(of.inc, of.moves.Ordinal(start))\n"}},
			Catchers: []catcher{{Scenario: "window", Time: 20 * time.Second, Nemesis: "kill-all",
				Shows: []string{"doubled", "two values", "states differ"}, Runs: 5}}},
	}
}

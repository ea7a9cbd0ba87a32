package mutants

import (
	"time"

	"github.com/turnlog/turnlog/cluster-test/mutation"
)

// windowMutants break what is remembered of ids.
func windowMutants() []mutation.Mutant {
	return []mutation.Mutant{
		{Name: "highest-number-taken-again", About: "the last operation that a node sent takes effect again when it " +
			"is sent again",
			Edits:    []mutation.Edit{{In: "(*numbers).take", Old: "if number > n.max {", New: "if number >= n.max {"}},
			Catchers: []mutation.Catcher{{Test: "TestEachNumberIsTakenOnce", Runs: 1}}},
		{Name: "numbers-of-before-a-jump",
			About:    "operations are passed over whose numbers share a place with those before a jump",
			Edits:    []mutation.Edit{{In: "(*numbers).take", Old: "clear(n.bits[:])", New: ""}},
			Catchers: []mutation.Catcher{{Test: "TestEachNumberIsTakenOnce", Runs: 1}}},
		{Name: "older-numbers-new", About: "an operation whose number is too old to tell counts as new",
			Edits: []mutation.Edit{{In: "(*numbers).take", Old: "n.max-number >= Window || n.has(number)",
				New: "n.has(number)"}},
			Catchers: []mutation.Catcher{{Test: "TestEachNumberIsTakenOnce", Runs: 1}}},
		{Name: "use-of-an-origin-unnoted", About: "the numbers of an origin are forgotten although it was used lately",
			Edits:    []mutation.Edit{{In: "Set.Take", Old: "n.used = index", New: ""}},
			Catchers: []mutation.Catcher{{Test: "TestOriginUsedLeastLatelyIsForgotten", Runs: 1}}},
		{Name: "newest-message-alone", About: "of deleted messages, the newest alone is known by its id",
			Edits: []mutation.Edit{{In: "(*ring).Among", Old: "print != 0 && set.Has(print)",
				New: "print != 0 && set.Has(print) && i == 0"}},
			Catchers: []mutation.Catcher{{Test: "TestAmongFindsLikeAPlainSearch", Runs: 1}}},
		{Name: "used-windows-forgotten", About: "the ids of sessions in use are looked for in the store again and " +
			"again",
			Edits: []mutation.Edit{{In: "(*Windows).ShrinkTo", Old: "of.used && spared < maxSpared",
				New: "of.used && spared > maxSpared"}},
			Catchers: []mutation.Catcher{{Test: "TestUsedWindowsAreSpared", Runs: 1}}},
		{Name: "window-halved-by-restarts", About: "a node that was started again knows half of the ids of a session",
			Edits: []mutation.Edit{{Old: "\tw := x.Windows.Add(of.Inc, of.Moves.Ordinal(start))\n",
				New: "\tif of.Last-start > 512 {\n\t\tstart = of.Last - 511\n\t}\n" +
					"\tw := x.Windows.Add(of.Inc, of.Moves.Ordinal(start))\n"}},
			Catchers: []mutation.Catcher{{Scenario: "window", Time: 20 * time.Second, Nemesis: "kill-all",
				Shows: []string{"doubled", "two values", "states differ"}, Runs: 5}}},
	}
}

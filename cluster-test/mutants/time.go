package mutants

import (
	"time"

	"github.com/turnlog/turnlog/cluster-test/mutation"
)

// timeMutants break expiry.
func timeMutants() []mutation.Mutant {
	return []mutation.Mutant{
		{Name: "former-deadlines-count", About: "an entry of a former deadline takes the key out of the due index",
			Edits:    []mutation.Edit{{In: "(*Keys).expireOrReschedule", Old: " || h.Scheduled != deadline", New: ""}},
			Catchers: []mutation.Catcher{{Test: "TestFormerDeadlineChangesNothing", Runs: 1}}},
		{Name: "deadlines-overflow", About: "a time to live that leads beyond the highest number leads into the past",
			Edits: []mutation.Edit{{Old: "if ms > 0 && then < ks.Meta.Clock {",
				New: "if false {"}},
			Catchers: []mutation.Catcher{{Test: "TestDeadlinesDoNotOverflow", Runs: 1}}},
		{Name: "early-expiry", About: "sessions expire 400 ms before their time",
			Edits: []mutation.Edit{{Old: "s.After(o.TTL), h.Slide)", New: "s.After(max(o.TTL-400, 1)), h.Slide)"}},
			Catchers: []mutation.Catcher{{Scenario: "calm", Time: 5 * time.Second, Workloads: "ttl",
				Shows: []string{"expired early"}, Runs: 2},
				{Test: "TestAgainstModel", Runs: 1}}},
		{Name: "watch-blind-to-expiry",
			About:    "a watched key that has expired is compared as it was, until it is deleted",
			Edits:    []mutation.Edit{{In: "(*stepwise).apply", Old: "s.Find(", New: "s.Head("}},
			Catchers: []mutation.Catcher{{Test: "TestWatchNoticesExpiry", Runs: 1}}},
		{Name: "replace-does-not-slide", About: "a replacement does not renew a sliding deadline",
			Edits:    []mutation.Edit{{In: "(*Operations).replaceFrom", Old: "if h.Slide > 0 {", New: "if h.Slide < 0 {"}},
			Catchers: []mutation.Catcher{{Test: "TestReplaceRenewsASlidingDeadline", Runs: 1}}},
		{Name: "old-clocks", About: "a new leader goes by what the others' clocks showed long ago",
			Edits: []mutation.Edit{{Old: "n.askClocks(ctx, others)", New: "n.offsets.Of(others, n.cfg.Clock.Now())"}},
			Catchers: []mutation.Catcher{{Test: "TestStaleOffsetsDoNotCount", Shows: []string{"cluster time is ahead"},
				Runs: 3}}},
	}
}

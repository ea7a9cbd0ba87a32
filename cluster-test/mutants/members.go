package mutants

import (
	"time"

	"github.com/turnlog/turnlog/cluster-test/mutation"
)

// memberMutants break what only a cluster shows whose members change.
func memberMutants() []mutation.Mutant {
	const library = "github.com/hashicorp/raft"
	return []mutation.Mutant{
		{Name: "half-is-a-majority",
			About: "of an even number of voters, as there is while the cluster grows, half elect a leader and commit",
			Edits: []mutation.Edit{{Module: library, Old: "return voters/2 + 1\n", New: "return (voters + 1) / 2\n"},
				{Module: library, Old: "quorumMatchIndex := matched[(len(matched)-1)/2]",
					New: "quorumMatchIndex := matched[len(matched)/2]"}},
			Catchers: []mutation.Catcher{{Scenario: "membership", Time: 40 * time.Second, Nemesis: "grown",
				Workloads: "append",
				Shows: []string{"lost", "two values", "nodes differ", "states differ", "real time",
					"removes committed"}, Runs: 6}}},
	}
}

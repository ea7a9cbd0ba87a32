package fsm

import (
	"math"
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/cost"
	"github.com/turnlog/turnlog/turn"
)

// As many operations as an entry may hold by their weight find room in it, even if each
// costs as much as its weight foresees.
func TestWeightsKeepToTheAllowance(t *testing.T) {
	fits := func(name string, op turn.Op, each int) {
		t.Helper()
		if n := EntryWeight / Weight(op); (n-1)*each >= cost.EntryAllowance() {
			t.Errorf("%d times %s cost %d, an entry may cost %d", n, name, each, cost.EntryAllowance())
		}
	}
	fits("search", &turn.RemoveElements{Key: sessionA}, turn.DefaultLimits().ForkMessages*cost.Passed)
	fits("replacement", &turn.SetElement{Key: sessionA}, turn.DefaultLimits().ForkMessages*cost.Passed)
	fits("pop", &turn.Pop{Key: sessionA, Count: 1}, 300_000)
	fits("metadata", &turn.SetMetadata{Key: sessionA}, turn.DefaultLimits().MetaBytes)
	fits("fork", &turn.Fork{Key: sessionA}, cost.EntryAllowance())
	fits("transaction", &turn.Tx{Steps: []turn.Step{{Op: &turn.Fork{Key: sessionA}}, {Op: &turn.Fork{Key: sessionA}},
		{Query: &turn.GetString{Key: sessionA}}}},
		cost.EntryAllowance())
	step := func(q turn.Query) turn.Op { return &turn.Tx{Steps: []turn.Step{{Query: q}}} }
	fits("range", step(&turn.List{Key: sessionA}), 20_000*cost.Passed)
	fits("rank", step(&turn.Rank{Key: sessionA}), 80_000*cost.PassedElement)
	fits("string", step(&turn.GetString{Key: sessionA}), 300_000)
	if got := Weight(&turn.PopFirst{Count: math.MaxUint64}); got != EntryWeight {
		t.Errorf("a pop of all weighs %d", got)
	}
	if got := Weight(&turn.Append{}); got != 0 {
		t.Errorf("an append weighs %d", got)
	}
}

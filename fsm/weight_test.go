package fsm

import (
	"math"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// As many operations as an entry may hold by their weight find room in it, even if each
// costs as much as its weight foresees.
func TestWeightsKeepToTheAllowance(t *testing.T) {
	fits := func(name string, op turn.Op, cost int) {
		t.Helper()
		if n := EntryWeight / Weight(op); (n-1)*cost >= entryAllowance() {
			t.Errorf("%d times %s cost %d, an entry may cost %d", n, name, cost, entryAllowance())
		}
	}
	fits("search", &turn.RemoveElements{Key: sessionA}, turn.DefaultLimits().ForkMessages*passedCost)
	fits("replacement", &turn.SetElement{Key: sessionA}, turn.DefaultLimits().ForkMessages*passedCost)
	fits("pop", &turn.Pop{Key: sessionA, Count: 1}, 300_000)
	fits("metadata", &turn.SetMetadata{Key: sessionA}, turn.DefaultLimits().MetaBytes)
	fits("fork", &turn.Fork{Key: sessionA}, entryAllowance())
	fits("transaction", &turn.Tx{Steps: []turn.Step{{Op: &turn.Fork{Key: sessionA}}, {Op: &turn.Fork{Key: sessionA}},
		{Query: &turn.GetString{Key: sessionA}}}},
		entryAllowance())
	step := func(q turn.Query) turn.Op { return &turn.Tx{Steps: []turn.Step{{Query: q}}} }
	fits("range", step(&turn.List{Key: sessionA}), 20_000*passedCost)
	fits("rank", step(&turn.Rank{Key: sessionA}), 80_000*passedElement)
	fits("string", step(&turn.GetString{Key: sessionA}), 300_000)
	if got := Weight(&turn.PopFirst{Count: math.MaxUint64}); got != EntryWeight {
		t.Errorf("a pop of all weighs %d", got)
	}
	if got := Weight(&turn.Append{}); got != 0 {
		t.Errorf("an append weighs %d", got)
	}
}

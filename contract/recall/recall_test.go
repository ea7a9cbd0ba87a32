package recall_test

import (
	"context"
	"testing"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/memory"
	"github.com/turnlog/turnlog/contract/recall"
)

// TestScores: who forgets nothing scores 100, and who forgets all up to a moment
// scores only what was told since.
func TestScores(t *testing.T) {
	server := memory.New()
	target := server.Target()
	nothing := func(context.Context) error { return nil }
	target.Restarts = []contract.Restart{
		{Kind: contract.CanStop, Do: nothing},
		{Kind: contract.CanKill, Do: target.Restarts[0].Do},
	}
	scores := recall.Script{Target: target, Seed: 1}.Run(t.Context())
	if len(scores) != 2 {
		t.Fatalf("%d scores", len(scores))
	}
	for i, s := range scores {
		t.Logf("%+v", s)
		if s.Err != nil || s.Before.Percent() != 100 {
			t.Errorf("before %s: %v, %v", s.Kind, s.Before, s.Err)
		}
		if remembered := s.After.Percent() == 100; remembered != (i == 0) {
			t.Errorf("after %s: %v", s.Kind, s.After)
		}
	}
	if p := scores[1].After.Percent(); p > 90 {
		t.Errorf("a store that forgot scores %.0f", p)
	}
}

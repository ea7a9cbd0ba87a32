package memory_test

import (
	"context"
	"os"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/memory"
)

// target is the reference without its restarts, which it does not survive.
func target() contract.Target {
	server := memory.New()
	t := server.Target()
	t.Restarts = nil
	t.Line = func(context.Context) (contract.Line, error) { return server.Line(), nil }
	return t
}

// TestContract: the reference keeps every clause but those about restarts.
func TestContract(t *testing.T) {
	suite := contract.Suite{Target: target()}
	suite.Run(t)
}

// TestFiftySeeds: it is not accused of anything with any of them.
func TestFiftySeeds(t *testing.T) {
	if os.Getenv("TURNLOG_LONG") == "" {
		t.Skip("TURNLOG_LONG=1 runs it")
	}
	var group errgroup.Group
	group.SetLimit(5)
	for seed := range uint64(50) {
		group.Go(func() error {
			s := contract.Suite{Target: target(), Seed: seed + 1}
			report, err := s.Verify(t.Context())
			if err != nil {
				return err
			}
			for _, r := range report.Results {
				if r.Status == contract.Failed || r.Status == contract.Undecided {
					t.Errorf("seed %d: %s: %s", seed+1, r.Case.ID(), r.Detail)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

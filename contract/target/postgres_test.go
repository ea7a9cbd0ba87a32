package target

import (
	"context"
	"os"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/internal/servers"
)

// postgres is a table in a PostgreSQL of the test's own, which can be stopped and
// killed.
func postgres(t *testing.T) *Target {
	t.Helper()
	server, url := servers.Postgres(t)
	target := openTest(t, url, Options{})
	target.Restarts = []contract.Restart{
		{Kind: contract.CanStop, Do: func(context.Context) error { return server.Restart(os.Interrupt) }},
		{Kind: contract.CanKill, Do: func(context.Context) error { return server.Restart(os.Kill) }},
	}
	return target
}

// TestPostgres: a table with a transaction for each append is not accused of
// anything, also when its server is killed.
func TestPostgres(t *testing.T) {
	t.Parallel()
	runGates(t, postgres(t))
}

// TestPostgresFiftySeeds: nor with any of fifty seeds, in any gate. Several servers
// share the work.
func TestPostgresFiftySeeds(t *testing.T) {
	if !long() {
		t.Skip("TURNLOG_LONG=1 runs it")
	}
	t.Parallel()
	seeds := make(chan uint64, 50)
	for seed := range uint64(50) {
		seeds <- seed + 1
	}
	close(seeds)
	var group errgroup.Group
	for range 4 {
		target := postgres(t)
		group.Go(func() error {
			for seed := range seeds {
				s := contract.Suite{Target: target.Target, Seed: seed}
				report, err := s.Verify(t.Context())
				if err != nil {
					return err
				}
				t.Logf("seed %d: %d hold in %s", seed, report.Count("", contract.Passed), report.Elapsed)
				for _, r := range report.Results {
					if r.Status == contract.Failed || r.Status == contract.Undecided {
						t.Errorf("seed %d: %s: %s", seed, r.Case.ID(), r.Detail)
					}
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

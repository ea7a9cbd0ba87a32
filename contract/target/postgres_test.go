package target

import (
	"context"
	"os"
	"testing"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/internal/servers"
)

// TestPostgres: a table with a transaction for each append is never accused, also
// when its server is killed. The long form runs fifty seeds.
func TestPostgres(t *testing.T) {
	t.Parallel()
	server, url := servers.Postgres(t)
	target := openTest(t, url, Options{})
	target.Restarts = []contract.Restart{
		{Kind: contract.CanStop, Do: func(context.Context) error { return server.Restart(os.Interrupt) }},
		{Kind: contract.CanKill, Do: func(context.Context) error { return server.Restart(os.Kill) }},
	}
	runGates(t, target)
	if !long() {
		return
	}
	for seed := range uint64(50) {
		s := contract.Suite{Target: target.Target, Seed: seed + 1, Gates: []contract.Gate{
			contract.Sequential, contract.Concurrency, contract.Isolation, contract.Faults, contract.Retry, contract.Conflict}}
		report, err := s.Verify(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range report.Results {
			if r.Status == contract.Failed || r.Status == contract.Undecided {
				t.Errorf("seed %d: %s: %s", seed+1, r.Case.ID(), r.Detail)
			}
		}
	}
}

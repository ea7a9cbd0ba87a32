package contract_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/memory"
)

// slow takes its time for each save.
type slow struct{ *memory.Handle }

func (s slow) Add(ctx context.Context, session string, turn ...contract.Message) error {
	time.Sleep(5 * time.Second)
	return s.Handle.Add(ctx, session, turn...)
}

// TestSlowStoreIsNotAccused: a store that rewrites its file with each save is slow at a
// long history, and that is all that is wrong with it.
func TestSlowStoreIsNotAccused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memory.New()
		open := func(context.Context) (contract.Store, error) { return slow{server.Open()}, nil }
		s := contract.Suite{Target: contract.Target{Open: open}, Cases: []string{"edges/long-history"}}
		report, err := s.Verify(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if r := report.Results[0]; r.Status != contract.Passed {
			t.Errorf("%s after %s: %s", r.Status, r.Elapsed, r.Detail)
		}
	})
}

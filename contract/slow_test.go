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
type slow struct {
	*memory.Handle
	save time.Duration
}

func (s slow) Add(ctx context.Context, session string, turn ...contract.Message) error {
	time.Sleep(s.save)
	return s.Handle.Add(ctx, session, turn...)
}

// TestSlowStoreIsNotAccused: a store that rewrites its file with each message is slow at
// a long history, and that is all that is wrong with it.
func TestSlowStoreIsNotAccused(t *testing.T) {
	for _, tt := range []struct {
		name          string
		save, timeout time.Duration
	}{
		{"many saves", 5 * time.Second, time.Minute},
		{"long saves", 40 * time.Second, 10 * time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := memory.New()
				open := func(context.Context) (contract.Store, error) { return slow{server.Open(), tt.save}, nil }
				s := contract.Suite{Target: contract.Target{Open: open}, Timeout: tt.timeout,
					Cases: []string{"edges/long-history"}}
				report, err := s.Verify(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if r := report.Results[0]; r.Status != contract.Passed {
					t.Errorf("%s after %s: %s", r.Status, r.Elapsed, r.Detail)
				}
			})
		})
	}
}

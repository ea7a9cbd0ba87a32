package badstores_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/badstores"
	"github.com/turnlog/turnlog/contract/memory"
)

// seeds is how often each defect must be found: a few times, or fifty in the long
// form, TURNLOG_LONG=1.
func seeds() uint64 {
	if os.Getenv("TURNLOG_LONG") != "" {
		return 50
	}
	return 2
}

// everySeed runs a case with each seed on a new target, several at a time, and
// returns the first result that is not as wanted.
func everySeed(t *testing.T, name string, want contract.Status, target func() contract.Target) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(10)
	for seed := range seeds() {
		group.Go(func() error {
			s := contract.Suite{Target: target(), Seed: seed + 1, Cases: []string{name}}
			report, err := s.Verify(t.Context())
			if err != nil {
				return err
			}
			if r := report.Results[0]; r.Status != want {
				return fmt.Errorf("seed %d: %s: %s %s", seed+1, name, r.Status, r.Detail)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

// TestEachIsCaught: every defect is found by the cases that are there for it, with
// every seed.
func TestEachIsCaught(t *testing.T) {
	for _, bad := range badstores.All() {
		for _, name := range append([]string{bad.Caught}, bad.Also...) {
			t.Run(bad.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				everySeed(t, name, contract.Failed, bad.Target)
			})
		}
	}
}

// TestTheCorrectStoreIsNotAccused: of anything that the bad ones are.
func TestTheCorrectStoreIsNotAccused(t *testing.T) {
	names := map[string]bool{}
	for _, bad := range badstores.All() {
		for _, name := range append(bad.Also, bad.Caught) {
			names[name] = true
		}
	}
	for name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everySeed(t, name, contract.Passed, func() contract.Target {
				server := memory.New()
				target := server.Target()
				for i := range target.Restarts { // as if its memory were on disk
					target.Restarts[i].Do = func(context.Context) error { return nil }
				}
				target.Line = func(context.Context) (contract.Line, error) { return server.Line(), nil }
				return target
			})
		})
	}
}

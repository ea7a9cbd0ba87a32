package badstores_test

import (
	"context"
	"os"
	"testing"

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

// TestEachIsCaught: every defect is found by the cases that are there for it, with
// every seed.
func TestEachIsCaught(t *testing.T) {
	for _, bad := range badstores.All() {
		for _, name := range append([]string{bad.Caught}, bad.Also...) {
			t.Run(bad.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				for seed := range seeds() {
					s := contract.Suite{Target: bad.Target(), Seed: seed + 1, Cases: []string{name}}
					report, err := s.Verify(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					r := report.Results[0]
					if r.Status != contract.Failed {
						t.Fatalf("seed %d: %s is not caught: %s %s", seed+1, bad.Defect, r.Status, r.Detail)
					}
					if seed == 0 {
						t.Logf("%s", r.Detail)
					}
				}
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
		if name == "restart/stop" || name == "restart/kill" {
			continue // which process memory does not survive
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range seeds() {
				server := memory.New()
				target := server.Target()
				target.Line = func(context.Context) (contract.Line, error) { return server.Line(), nil }
				s := contract.Suite{Target: target, Seed: seed + 1, Cases: []string{name}}
				report, err := s.Verify(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if r := report.Results[0]; r.Status != contract.Passed {
					t.Fatalf("seed %d: %s: %s", seed+1, r.Status, r.Detail)
				}
			}
		})
	}
}

package contract_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/memory"
)

// full is a store that saves nothing, and does not say whether it did.
type full struct{ *memory.Handle }

var errFull = errors.New("the disk is full")

func (full) Add(context.Context, string, ...contract.Message) error { return errFull }

// TestRestartAmongFailedSaves: a crew whose saves fail ends the case with the error
// of the store, and not with the time of the case.
func TestRestartAmongFailedSaves(t *testing.T) {
	server := memory.New()
	target := server.Target()
	target.Claims = contract.Claims{} // ids would have each turn be sent again
	target.Open = func(context.Context) (contract.Store, error) { return full{server.Open()}, nil }
	s := contract.Suite{Target: target, Timeout: 10 * time.Second, Cases: []string{"restart/kill-while-saving"}}
	report, err := s.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := report.Results[0]
	if r.Status != contract.Failed || !strings.Contains(r.Detail, errFull.Error()) ||
		strings.Contains(r.Detail, "too late") {
		t.Errorf("%s: %s", r.Status, r.Detail)
	}
}

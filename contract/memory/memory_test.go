package memory_test

import (
	"context"
	"testing"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/memory"
)

// TestContract: the reference keeps every clause but those about restarts.
func TestContract(t *testing.T) {
	server := memory.New()
	target := server.Target()
	target.Restarts = nil
	target.Line = func(context.Context) (contract.Line, error) { return server.Line(), nil }
	suite := contract.Suite{Target: target}
	suite.Run(t)
}

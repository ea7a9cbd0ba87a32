package turnlogtest

import (
	"log/slog"
	"time"

	"github.com/turnlog/turnlog/internal/config"
	"github.com/turnlog/turnlog/internal/descriptors"
	"github.com/turnlog/turnlog/internal/node"
)

// Nodes of tests are many and short-lived: segment is how many bytes each file of a node's log
// reserves, memory its share of the test's.
const (
	segment = 16 << 20
	memory  = 64 << 20
	// aloneElection is how soon a node that is alone elects itself.
	aloneElection = 50 * time.Millisecond
)

// settings returns what all nodes have in common; without an address none listens.
func settings(dir string) *config.Config {
	cfg := config.Default()
	cfg.Embedded, cfg.DataDir = true, dir
	cfg.Listen = config.Addresses{}
	cfg.ElectionTimeout, cfg.MemoryBudget = aloneElection, memory
	return &cfg
}

func openNode(cfg *config.Config, log *slog.Logger) (*node.Node, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	limit, err := descriptors.Present()
	if err != nil {
		return nil, err
	}
	return node.Open(cfg, node.Options{Version: "test", Logger: log, Descriptors: limit, SegmentBytes: segment})
}
